provider a { probe x(int b[A*/B], string c : d *e) : (void (*)(f)); probe 2__; }
# 3 "m.d" 1
#define Q \
 r /* z
 */
