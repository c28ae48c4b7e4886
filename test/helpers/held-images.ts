import { vi } from 'vitest';
import { sharp } from '../../src/platform/images/formats.ts';
import { imageQueue } from '../../src/platform/images/prepare.ts';

/** Control over image decoding in this process. Decoding is paused until `release`. */
export interface HeldImages extends Disposable {
  /** Resolves when one image is paused and this number of images is queued behind it. */
  until(waiting: number): Promise<void>;
  release(): void;
}

/** Pauses image decoding in the process of the test, until `release` or disposal. */
export function heldImages(): HeldImages {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const read = sharp.prototype.toBuffer;
  const spy = vi.spyOn(sharp.prototype, 'toBuffer').mockImplementation(async function (
    this: unknown,
    ...args: unknown[]
  ) {
    await released;
    return read.apply(this as never, args as never) as never;
  } as never);
  return {
    until: (waiting) =>
      vi.waitFor(
        () => {
          if (spy.mock.calls.length === 0 || imageQueue.waiting !== waiting) throw new Error('not yet');
        },
        { timeout: 30_000, interval: 10 },
      ),
    release,
    [Symbol.dispose]() {
      release();
      spy.mockRestore();
    },
  };
}
