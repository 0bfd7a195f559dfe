/* SPDX-License-Identifier: Apache-2.0
 * minimal.c - the program of README.md, word for word.
 */
#include <orma/orma.h>

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames and drawing");

int main(void)
{
	orma_init(NULL);
	orma_sync(1000); /* a program this short would end before it is connected */
	for (int frame = 0; frame < 1000; frame++) {
		ORMA_SCOPE(gfx, "frame"); /* a slice until the end of the block */
		ORMA_COUNTER(gfx, "number", frame);
		if (frame % 100 == 0)
			ORMA_INSTANT(gfx, "hundred", "frame", frame, "of", 1000);
	}
	orma_shutdown();
}
