(* SPDX-License-Identifier: MIT *)
(* OCaml: makes garbage until it has made so many minor collections; how many it counted itself.

     ./churn 100          waits for a line before it begins and before it ends *)
let kept = ref []

let churn last =
  let i = ref 0 in
  while (Gc.quick_stat ()).minor_collections < last do
    incr i;
    let block = List.init 50 (fun k -> !i + k) in
    if !i mod 3 = 0 then kept := block :: !kept;
    if !i mod 100_000 = 0 then kept := []
  done

let () =
  Printf.printf "ready %d\n%!" (Unix.getpid ());
  ignore (read_line ());
  let before = Gc.quick_stat () in
  churn (before.minor_collections + int_of_string Sys.argv.(1));
  Gc.full_major ();
  Gc.compact ();
  let after = Gc.quick_stat () in
  Printf.printf "done minor=%d major=%d compactions=%d\n%!"
    (after.minor_collections - before.minor_collections)
    (after.major_collections - before.major_collections)
    (after.compactions - before.compactions);
  ignore (read_line ())
