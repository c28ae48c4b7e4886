import { shellWord } from '../../../api/html.ts';
import type { Method } from '../../../api/rest/endpoint.ts';
import { API_PREFIX } from '../../../api/rest/router.ts';

/** The values of an example call. A name like `$DRAFT` in any value is a shell variable. */
export interface Filling {
  /** Values of the path parameters. */
  readonly slots?: Readonly<Record<string, string>>;
  /** Values of the parameters in the query string or form. A value that begins with @ is the name of a file to upload. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Credentials of the call, as `name:key`. Default: `$EMAIL:$KEY`. Null: no credentials. */
  readonly login?: string | null;
}

/** A call that runs before the example call, and creates the object that the example needs. */
export interface Lead extends Filling {
  readonly call: `${Method} ${string}`;
  /** Name of the shell variable that stores a field of the response. If absent, the response is discarded. */
  readonly set?: string;
  /** Name of the response field whose value is stored: a number, a text, or the first item of a list. */
  readonly take?: string;
  /** Whether to store the values of all fields with the name `take` in the response, separated by commas. */
  readonly all?: true;
}

/** An example call that is written by hand. */
export interface DemoCall extends Filling {
  /** Calls, or lines of shell, that run before the example call. */
  readonly first?: readonly (Lead | string)[];
  /** Set if the call fails in the demo organization: the error code, and the configuration that the call needs. */
  readonly refused?: { readonly code: string; readonly needs: string };
}

/** Example calls by method and path, such as "GET /drafts". */
export type DemoCalls = Readonly<Record<string, DemoCall>>;

/** Returns a text as one shell word. Names such as `$NAME` stay variables. All other text is quoted. */
export function shellText(text: string): string {
  const parts = text.split(/(\$[A-Z]+)/).filter((part) => part !== '');
  return parts.length === 0 ? "''" : parts.map((part) => (/^\$[A-Z]+$/.test(part) ? part : shellWord(part))).join('');
}

/** Returns a curl command, with each field on its own line. @param quiet Whether curl prints no progress. */
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

/** Returns a path segment, percent-encoded except for names of variables. */
const inUrl = (value: string) =>
  value
    .split(/(\$[A-Z]+)/)
    .map((part) => (part.startsWith('$') ? part : encodeURIComponent(part)))
    .join('');

/** Returns the shell command for a call that runs before the example call. */
export const leadLine = (lead: Lead | string): string => (typeof lead === 'string' ? lead : leadCall(lead));

function leadCall({ call, set, take = '', all, ...filling }: Lead): string {
  const curl = curlCall(call, filling, true);
  if (set === undefined) return `${curl} > /dev/null`;
  return `${set}=$(${curl} |\n  ${all === true ? takeAll(take) : takeOne(take)})`;
}

/**
 * Returns a shell command that extracts one field from a response on standard input: a text, a number, or the first item of a
 * list.
 */
export const takeOne = (field: string): string => `sed -E 's/.*"${field}":\\[?"?([^],"}]+).*/\\1/'`;

/** Returns a shell command that extracts all numbers under one name from a response, separated by commas. */
const takeAll = (field: string): string => `grep -oE '"${field}":[0-9]+' | cut -d: -f2 | paste -sd, -`;
