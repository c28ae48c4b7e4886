/** A value that is JSON already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The JSON of an object, some of whose fields may be JSON already. */
export function withTexts(fields: Readonly<Record<string, unknown>>): string {
  const written = Object.entries(fields).flatMap(([name, value]) => {
    const text = value instanceof JsonText ? value.text : JSON.stringify(value);
    // As JSON does with what is undefined.
    return text === undefined ? [] : `${JSON.stringify(name)}:${text}`;
  });
  return `{${written.join(',')}}`;
}
