import { gzipSync } from 'node:zlib';
import type { GraphQLSchema } from 'graphql';
import type { Json } from '../helpers/http.ts';
import { type MultipartBody, multipart, multipartOperation, PREFLIGHT } from '../helpers/multipart.ts';
import type { Person } from '../helpers/person.ts';
import type { Battery, Input, Kind, Verdict } from './campaign.ts';
import type { Dice } from './dice.ts';
import { judge, readSchema } from './graphql.ts';
import { INSIDE, shown, timed } from './http.ts';
import { type Operation, readOperations } from './openapi.ts';
import { picture } from './pictures.ts';
import type { Cast } from './stage.ts';

export async function uploadKind(url: string): Promise<Kind> {
  const operations = new Map((await readOperations({ url })).map((operation) => [operation.name, operation]));
  const schema = readSchema();
  return {
    name: 'Uploads',
    lanes: 6,
    batch: 500,
    open: (cast) => new UploadBattery(cast, operations, schema),
  };
}

/** An upload request. */
interface Upload {
  /** Name of the REST endpoint in the OpenAPI description. Undefined if the upload uses GraphQL. */
  readonly operation: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly body: MultipartBody;
  readonly query?: string;
}

class UploadBattery implements Battery {
  readonly #cast: Cast;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #schema: GraphQLSchema;

  constructor(cast: Cast, operations: ReadonlyMap<string, Operation>, schema: GraphQLSchema) {
    this.#cast = cast;
    this.#operations = operations;
    this.#schema = schema;
  }

  next(dice: Dice): Input {
    const file = picture(dice);
    const name = `fuzz_${dice.int(0, 10 ** 9)}`;
    const upload = dice.weighted<() => Upload>([
      [55, () => rest('POST', '/realm/emoji/{emoji_name}', `/realm/emoji/${name}`, fields(file, dice))],
      [8, () => rest('POST', '/users/me/avatar', '/users/me/avatar', fields(file, dice))],
      [
        4,
        () =>
          rest('POST', '/bots', '/bots', [
            ['full_name', name],
            ['short_name', name.replace('_', '')],
            ...fields(file, dice),
          ]),
      ],
      [3, () => rest('PATCH', '/bots/{bot_id}', `/bots/${this.#cast.names.botId}`, fields(file, dice))],
      [
        3,
        () =>
          rest('POST', '/saved_snippets', '/saved_snippets', [
            ['title', name],
            ['content', name],
            ...fields(file, dice),
          ]),
      ],
      [19, () => inGraphQL('addCustomEmoji', { name, image: file }, dice)],
      [4, () => inGraphQL('setAvatar', { image: file }, dice)],
      [4, () => inGraphQL('updateBot', { botId: this.#cast.names.botId, image: file }, dice)],
    ])();
    const { scene, actors } = this.#cast;
    const sender = dice.chance(0.85) ? scene.owner : dice.pick(actors);
    const { body, headers } = wrapped(upload.body, dice);
    const what = `${sender.name} ${upload.operation ?? shown(upload.query, 60)} ${shown(body.toString('latin1').replaceAll(/[^\x20-\x7e]+/g, '.'), 300)}`;
    return { what, send: () => this.#send(upload, sender, body, headers) };
  }

  async close(): Promise<void> {}

  async #send(
    upload: Upload,
    sender: Person,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<Verdict> {
    const { method, path, operation, query } = upload;
    const { reply, milliseconds, error } = await timed(sender.url, {
      ...{ method, path, body },
      headers: { ...sender.headers, ...headers, ...(query !== undefined && PREFLIGHT) },
    });
    if (reply === undefined) return { label: 'none', isSuccess: false, milliseconds, faults: [`no answer: ${error}`] };
    const { status, text } = reply;
    const faults: string[] = status >= 500 ? [`status ${status}`] : [];
    if (query !== undefined) {
      const judged = judge(this.#schema, query, {}, text);
      return { ...judged, label: `${status} ${judged.label}`, milliseconds, faults: [...faults, ...judged.faults] };
    }
    const parsed: Json = JSON.parse(text);
    const problem = this.#operations.get(operation ?? '')?.problemOf(status, parsed);
    if (problem !== undefined) faults.push(problem);
    if (status !== 200 && INSIDE.test(text)) faults.push(`shows its inside: ${shown(text)}`);
    const label = status === 200 ? '200' : `${status} ${parsed.code}`;
    return { label, isSuccess: status === 200, milliseconds, faults };
  }
}

const rest = (method: string, template: string, path: string, parts: [string, string | Uint8Array][]): Upload => ({
  ...{ operation: `${method} ${template}`, method, path: `/api/v1${path}` },
  body: multipart(parts),
});

/** Returns the form fields of an upload: mostly one file, sometimes none or several. */
function fields(file: Buffer, dice: Dice): [string, string | Uint8Array][] {
  const one: [string, Uint8Array] = [dice.chance(0.9) ? 'file' : dice.text().replaceAll(/["\r\n]/g, ''), file];
  return dice.weighted([
    [94, [one]],
    [2, [one, one]],
    [2, []],
    [2, [one, ['file', dice.text()]]],
  ]);
}

function inGraphQL(field: string, input: object, dice: Dice): Upload {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}`;
  const query = `mutation ($input: ${type}Input!) { ${field}(input: $input) { __typename ... on ServiceError { code message } } }`;
  const body = multipartOperation({ query, variables: { input } });
  return { operation: undefined, method: 'POST', path: '/graphql', query, body: remapped(body, dice) };
}

/** Returns a multipart GraphQL request. Sometimes its `map` assigns the file to a wrong path of the operation. */
function remapped({ type, content }: MultipartBody, dice: Dice): MultipartBody {
  if (dice.chance(0.85)) return { type, content };
  const place = dice.pick([
    ...['variables.input', 'variables', 'query', '', '.', 'variables.input.image.0', 'variables.__proto__.image'],
    ...['variables.input.constructor.prototype', 'variables.input.nothing', `${'variables.'.repeat(2_000)}image`],
    ...['0.variables.input.image', 'extensions', 'operationName'],
  ]);
  return { type, content: replaced(content, '"variables.input.image"', JSON.stringify(place)) };
}

interface Wrapped {
  readonly body: Buffer;
  readonly headers: Record<string, string>;
}

/** Returns the body to send: mostly the valid one, sometimes with an error in its multipart structure. */
function wrapped({ type, content }: MultipartBody, dice: Dice): Wrapped {
  const boundary = type.split('boundary=')[1] as string;
  const plain = { body: content, headers: { 'content-type': type } };
  const withBody = (body: Buffer): Wrapped => ({ ...plain, body });
  const withType = (other: string): Wrapped => ({ ...plain, headers: { 'content-type': other } });
  const withPart = (from: string, to: string): Wrapped => withBody(replaced(content, from, to));
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="x"\r\n\r\ny\r\n`;
  return dice.weighted<() => Wrapped>([
    [75, () => plain],
    [
      2,
      () =>
        withPart(
          'filename="a file"',
          `filename="${dice.pick(['../../etc/passwd', '', 'x'.repeat(5_000), '%00', '"', 'a\\"b', 'é'])}"`,
        ),
    ],
    [
      2,
      () =>
        withPart(
          'application/octet-stream',
          dice.pick(['text/html', 'multipart/mixed; boundary=inner', '', 'x'.repeat(9_000)]),
        ),
    ],
    [
      1,
      () =>
        withPart(
          'Content-Type:',
          `${dice.pick(['Content-Transfer-Encoding: base64', 'X-Many: y\r\n'.repeat(500).trimEnd(), 'Content-Encoding: gzip', 'Content-Disposition: form-data; name="file"'])}\r\nContent-Type:`,
        ),
    ],
    [
      2,
      () =>
        withPart(
          'form-data; name=',
          dice.pick(['form-data; filename=', 'attachment; name=', "form-data;name*=utf-8''", '']),
        ),
    ],
    [2, () => withBody(content.subarray(0, dice.int(0, content.length)))],
    [2, () => withBody(Buffer.concat([Buffer.from(part.repeat(dice.pick([10, 900, 1_100, 5_000]))), content]))],
    [1, () => withBody(Buffer.from(content.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'))],
    [1, () => withBody(Buffer.concat([Buffer.from('preamble\r\n'), content, Buffer.from('epilogue')]))],
    [1, () => withBody(nestedParts(dice.pick([2, 50, 500]), boundary))],
    [1, () => withBody(gzipSync(content))],
    [
      1,
      () => ({
        body: gzipSync(content),
        headers: { 'content-type': type, 'content-encoding': dice.pick(['gzip', 'br', 'deflate', 'x']) },
      }),
    ],
    [1, () => withType(`multipart/form-data; boundary="${boundary}"; charset=utf-16`)],
    [
      1,
      () =>
        withType(
          dice.pick([
            'multipart/form-data',
            'multipart/form-data; boundary=',
            'multipart/mixed; boundary=x',
            `multipart/form-data; boundary=${'x'.repeat(2_000)}`,
            'multipart/form-data; boundary="',
          ]),
        ),
    ],
    [1, () => withBody(Buffer.alloc(dice.pick([0, 1, 100_000]), `--${boundary}\r\n`))],
  ])();
}

function nestedParts(depth: number, boundary: string): Buffer {
  let inner = 'x';
  for (let i = depth; i > 0; i--) {
    const own = `${boundary}${i}`;
    inner = `--${own}\r\nContent-Type: multipart/mixed; boundary=${boundary}${i + 1}\r\n\r\n${inner}\r\n--${own}--`;
  }
  const head = 'Content-Disposition: form-data; name="file"; filename="x"';
  return Buffer.from(
    `--${boundary}\r\n${head}\r\nContent-Type: multipart/mixed; boundary=${boundary}1\r\n\r\n${inner}\r\n--${boundary}--\r\n`,
  );
}

function replaced(content: Buffer, from: string, to: string): Buffer {
  const at = content.indexOf(from);
  if (at === -1) return content;
  return Buffer.concat([content.subarray(0, at), Buffer.from(to), content.subarray(at + from.length)]);
}
