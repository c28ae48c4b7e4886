import { buffer } from 'node:stream/consumers';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** A span that the service exported. Ids are hexadecimal. */
export interface ExportedSpan {
  readonly traceId: string;
  readonly id: string;
  /** Id of the parent. '' if the span has none. */
  readonly parentId: string;
  readonly name: string;
  /** 1: internal, 2: server, 3: client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>;
  /** 0: unset, 2: error. */
  readonly status: number;
  readonly durationMs: number;
  /** Attributes of the process that exported the span. */
  readonly resource: ExportedSpan['attributes'];
}

/** A server that receives spans over OTLP, as protobuf over HTTP: `await using` it. */
export interface Collector extends HttpServer {
  /** The spans that have arrived so far, in the order in which they ended. */
  readonly spans: readonly ExportedSpan[];
  /** The requests that have arrived so far: path and headers. */
  readonly requests: readonly { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[];
  /** All bytes that have arrived, as Latin-1 text, to search them for texts. */
  readonly text: string;
}

/** @param options.status Status of every response. Default: 200. */
export async function startCollector({ status = 200 } = {}): Promise<Collector> {
  const spans: ExportedSpan[] = [];
  const requests: Collector['requests'][number][] = [];
  let text = '';
  const server = await startHttpServer(async (request, response) => {
    const body = await buffer(request);
    requests.push({ path: request.url ?? '', headers: request.headers });
    text += body.toString('latin1');
    if (status === 200) spans.push(...spansIn(body));
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end();
  });
  return {
    ...server,
    spans,
    requests,
    get text() {
      return text;
    },
  };
}

type Value = bigint | Buffer;
/** The fields of a protobuf message by their number. */
type Fields = ReadonlyMap<number, readonly Value[]>;

/** Decodes a protobuf message without its schema. @see https://protobuf.dev/programming-guides/encoding/ */
function fieldsOf(message: Buffer): Fields {
  const fields = new Map<number, Value[]>();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number) => {
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const key = Number(varint());
    const [number, type] = [key >> 3, key & 7];
    let value: Value;
    if (type === 0) value = varint();
    else if (type === 1) value = bytes(8).readBigUInt64LE();
    else if (type === 5) value = BigInt(bytes(4).readUInt32LE());
    else value = bytes(Number(varint()));
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messagesIn = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Buffer));
const textIn = (fields: Fields, number: number): string => String(fields.get(number)?.[0] ?? '');
const hexIn = (fields: Fields, number: number): string =>
  (fields.get(number)?.[0] as Buffer | undefined)?.toString('hex') ?? '';
const numberIn = (fields: Fields, number: number): number => Number(fields.get(number)?.[0] ?? 0);

/** Returns the attributes in a field of the type `repeated KeyValue`: texts, booleans, integers and doubles. */
function attributesIn(fields: Fields, number: number): ExportedSpan['attributes'] {
  const pairs = messagesIn(fields, number).map((pair) => {
    const value = messagesIn(pair, 2)[0];
    const [kind, content] = [...(value ?? [])][0] ?? [];
    const first = content?.[0];
    if (kind === 1) return [textIn(pair, 1), String(first)];
    if (kind === 4) {
      const double = Buffer.alloc(8);
      double.writeBigUInt64LE(first as bigint);
      return [textIn(pair, 1), double.readDoubleLE()];
    }
    return [textIn(pair, 1), kind === 2 ? first === 1n : Number(first)];
  });
  return Object.fromEntries(pairs);
}

/** Returns the spans in an `ExportTraceServiceRequest`. */
function spansIn(request: Buffer): ExportedSpan[] {
  return messagesIn(fieldsOf(request), 1).flatMap((ofResource) => {
    const [resource] = messagesIn(ofResource, 1);
    return messagesIn(ofResource, 2).flatMap((ofScope) =>
      messagesIn(ofScope, 2).map((span) => ({
        traceId: hexIn(span, 1),
        id: hexIn(span, 2),
        parentId: hexIn(span, 4),
        name: textIn(span, 5),
        kind: numberIn(span, 6),
        attributes: attributesIn(span, 9),
        status: numberIn(messagesIn(span, 15)[0] ?? new Map(), 3),
        durationMs: (numberIn(span, 8) - numberIn(span, 7)) / 1e6,
        resource: resource === undefined ? {} : attributesIn(resource, 1),
      })),
    );
  });
}
