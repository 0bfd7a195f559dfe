// SPDX-License-Identifier: Apache-2.0
// heap_vectors.rs - keeps a thousand vectors of 3,000 bytes.

#[inline(never)]
fn keep_vectors() {
    for i in 0..1000 {
        std::mem::forget(vec![(i % 251) as u8 + 1; 3000]);
    }
}

fn main() {
    // The first allocation of a thread of Rust is one of glibc, under a lock.
    std::thread::spawn(keep_vectors).join().unwrap();
}
