/** A value that is JSON already, and as it goes out: what is long and kept is not to be written anew each time. */
export class JsonBytes {
  /** UTF-8, in the order in which they stand. */
  readonly pieces: readonly Uint8Array[];

  constructor(...pieces: readonly Uint8Array[]) {
    this.pieces = pieces;
  }
}

/** The JSON of an object, some of whose fields may be JSON already. */
export function withBytes(fields: Readonly<Record<string, unknown>>): Buffer<ArrayBuffer> {
  const pieces: Uint8Array[] = [];
  let text = '{';
  for (const [name, value] of Object.entries(fields)) {
    const json = value instanceof JsonBytes ? '' : JSON.stringify(value);
    // As JSON does with what is undefined.
    if (json === undefined) continue;
    text += `${text === '{' && pieces.length === 0 ? '' : ','}${JSON.stringify(name)}:${json}`;
    if (!(value instanceof JsonBytes)) continue;
    pieces.push(Buffer.from(text), ...value.pieces);
    text = '';
  }
  pieces.push(Buffer.from(`${text}}`));
  return Buffer.concat(pieces);
}
