import { shellWord } from '../../../api/html.ts';
import type { Method } from '../../../api/rest/endpoint.ts';
import { API_PREFIX } from '../../../api/rest/router.ts';

/** What a call is made with. In every value a name like `$DRAFT` is a variable of the shell. */
export interface Filling {
  /** What stands in the slots of the path. */
  readonly slots?: Readonly<Record<string, string>>;
  /** The parameters, as they are sent; a value that begins with @ is a file. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Who makes it; you, when absent. Null: nobody is signed in. */
  readonly login?: string | null;
}

/** A call made before, for what it makes: so that the one shown runs whatever was called earlier. */
export interface Lead extends Filling {
  readonly call: `${Method} ${string}`;
  /** The variable that keeps a field of its reply; absent: the call is made for its effect. */
  readonly set?: string;
  /** That field: a number, a text, or the first of a list. */
  readonly take?: string;
  /** Whether every such field is taken, with commas between them. */
  readonly all?: true;
}

/** The call that the reference shows of an endpoint, where one made from its declaration would not run in the demo organisation. */
export interface DemoCall extends Filling {
  /** Calls made before, or a line of shell. */
  readonly first?: readonly (Lead | string)[];
  /** The code that it is refused with where nothing besides the demo is set up, and what would have to be. */
  readonly refused?: { readonly code: string; readonly needs: string };
}

/** By method and path: "GET /drafts". */
export type DemoCalls = Readonly<Record<string, DemoCall>>;

/** What each value of `$NAME` in a word is put together from: quoted text, and variables between. */
export function shellText(text: string): string {
  const parts = text.split(/(\$[A-Z]+)/).filter((part) => part !== '');
  return parts.length === 0 ? "''" : parts.map((part) => (/^\$[A-Z]+$/.test(part) ? part : shellWord(part))).join('');
}

/** A call of curl, over as many lines as it has fields. @param quiet Without curl's own talk. */
export function curlCall(
  call: string,
  { slots = {}, fields = {}, login = '$EMAIL:$KEY' }: Filling,
  quiet = false,
): string {
  const [method = '', path = ''] = call.split(' ');
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => inUrl(slots[name] ?? ''));
  const isUpload = Object.values(fields).some((value) => value.startsWith('@'));
  const names = Object.keys(fields);
  const flags = [
    'curl',
    ...(quiet ? ['-s'] : []),
    ...(method !== 'GET' ? [`-X ${method}`] : names.length > 0 ? ['-G'] : []),
    ...(login === null ? [] : [`-u "${login}"`]),
    `"$URL${API_PREFIX}${filled}"`,
  ];
  const data = names.map((name) => `${isUpload ? '-F' : '--data-urlencode'} ${shellText(`${name}=${fields[name]}`)}`);
  return [flags.join(' '), ...data].join(' \\\n  ');
}

/** As it stands in a path, but for variables. */
const inUrl = (value: string) =>
  value
    .split(/(\$[A-Z]+)/)
    .map((part) => (part.startsWith('$') ? part : encodeURIComponent(part)))
    .join('');

/** The lines of shell before a call. */
export const leadLine = (lead: Lead | string): string => (typeof lead === 'string' ? lead : leadCall(lead));

function leadCall({ call, set, take = '', all, ...filling }: Lead): string {
  const curl = curlCall(call, filling, true);
  if (set === undefined) return `${curl} > /dev/null`;
  return `${set}=$(${curl} |\n  ${all === true ? takeAll(take) : takeOne(take)})`;
}

/** A filter of a shell that takes one field out of a reply: a text, a number, or the first of a list. */
export const takeOne = (field: string): string => `sed -E 's/.*"${field}":\\[?"?([^],"}]+).*/\\1/'`;

/** As `takeOne`, every number under that name. */
const takeAll = (field: string): string => `grep -oE '"${field}":[0-9]+' | cut -d: -f2 | paste -sd, -`;
