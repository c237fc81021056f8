// SPDX-License-Identifier: MIT
// A function that panics each third time; the panic is caught. ./panics CALLS
#[inline(never)]
#[no_mangle]
pub extern "Rust" fn risky(n: u32) -> u32 {
    if n % 3 == 0 {
        panic!("third")
    }
    std::hint::black_box(n)
}

fn main() {
    let calls: u32 = std::env::args().nth(1).map_or(30, |a| a.parse().unwrap());
    let mut thrown = 0;
    std::panic::set_hook(Box::new(|_| {}));
    for i in 0..calls {
        if std::panic::catch_unwind(|| std::hint::black_box(risky(i))).is_err() {
            thrown += 1
        }
    }
    eprintln!("risky {} thrown {}", calls, thrown);
}
