#!/bin/sh
# Makes all recordings here but words.data: as root, since the programs are recorded as /demo/NAME, with `perf` and
# `undwarf` on the path. The tutorial in docs/ quotes them, and its tests compare: correct its text if you replace them.
set -eu
cd "$(dirname "$0")"
target=$PWD
flags="-O2 -g -gz -ffreestanding -nostdlib -static -fno-stack-protector -fasynchronous-unwind-tables"
sed 's/\* 16777619u/+ 1/' ../words.c > demo/words-sum.c
mkdir -p /demo
cp demo/*.[ch] /demo
cp ../words.c /demo/words-product.c
cd /demo  # so that debugging information names no other folder
for name in requests particles nested words-sum words-product; do gcc $flags "$name.c" -o "$name"; done
cd "$target"
rm -f requests.data particles.data nested-512.data nested-4096.data words-sum.data words-product.data
undwarf record -q --all-user --off-cpu -F 499 -o requests.data -- /demo/requests 4 250
# Both threads must run at the same time, or there is no false sharing to see: repeat this on a busy machine.
perf record -q -z -F 997 -e cpu-clock:u --call-graph dwarf,256 --sample-cpu -o particles.data -- /demo/particles 4000
perf record -q -z -F 499 -e cpu-clock:u --call-graph dwarf,512 -o nested-512.data -- /demo/nested 400000
perf record -q -z -F 499 -e cpu-clock:u --call-graph dwarf,4096 -o nested-4096.data -- /demo/nested 400000
for name in words-sum words-product; do
    perf record -q -z -F 299 -e task-clock:u --call-graph dwarf,512 -o $name.data -- /demo/$name 500
done
chmod 644 ./*.data
# The names of the kernel's functions in which threads waited, as any user may read them.
undwarf script -F ip,sym requests.data | awk '$1 ~ /^ffff/ { print $2 }' | sort -u |
    while read -r name; do grep " [tT] $name\$" /proc/kallsyms; done | sort > kernel-symbols
cp /demo/requests /demo/particles /demo/nested /demo/words-sum /demo/words-product demo/
