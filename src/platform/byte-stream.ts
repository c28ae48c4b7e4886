/**
 * Returns a stream of the parts that a generator makes. A part is made when the reader has taken the previous one. If the reader
 * cancels the stream, the generator is closed.
 *
 * @param first The first part, if the caller has taken it from the generator already.
 */
export function streamOf(
  parts: AsyncGenerator<Uint8Array, void, undefined>,
  first?: IteratorResult<Uint8Array, void>,
): ReadableStream<Uint8Array> {
  let taken = first;
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = taken ?? (await parts.next());
        taken = undefined;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await parts.return();
      },
    },
    { highWaterMark: 1 },
  );
}
