import type { z } from 'zod';

/** Longest key that an error message shows in full: a client can send a key of a megabyte. */
const SHOWN_KEY_LENGTH = 60;

type Issue = z.core.$ZodIssue;

/**
 * Describes the first problem of a parameter, in the wording of the REST interface.
 *
 * @param name The parameter's name.
 * @param issues From zod with `reportInput`, which distinguishes a missing key from a wrong one.
 */
export function problemOf(name: string, issues: readonly Issue[]): string {
  const issue = deepest(issues);
  if (issue === undefined) return `Invalid ${name}`;
  const place = placeOf(name, issue.path);
  switch (issue.code) {
    case 'invalid_type':
      return isMissing(issue) ? `${place} field is missing` : `${place} is not ${nounOf(issue.expected)}`;
    case 'invalid_value':
      return isMissing(issue) ? `${place} field is missing` : `Invalid ${place}`;
    case 'too_big':
      return tooBig(place, issue);
    case 'too_small':
      return tooSmall(place, issue);
    case 'invalid_format':
      return `${place} has invalid format`;
    case 'unrecognized_keys':
      return `Argument "${shown(issue.keys[0] ?? '')}" at ${place} is unexpected`;
    case 'custom':
      return `Invalid ${place}: ${issue.message}`;
    default:
      return `Invalid ${place}`;
  }
}

/**
 * Returns the first issue. For a union, it returns the issue of the member in which validation got furthest. If the value matches
 * no member even in part, returns the issue of the union itself.
 */
function deepest(issues: readonly Issue[]): Issue | undefined {
  const [first] = issues;
  if (first?.code !== 'invalid_union') return first;
  const inner = first.errors
    .map(deepest)
    .filter((issue) => issue !== undefined && issue.path.length > 0)
    .sort((a, b) => (b?.path.length ?? 0) - (a?.path.length ?? 0))[0];
  return inner === undefined ? first : { ...inner, path: [...first.path, ...inner.path] };
}

/** Returns the path of a value: `name["key"][0]`. */
function placeOf(name: string, path: readonly PropertyKey[]): string {
  return name + path.map((key) => (typeof key === 'number' ? `[${key}]` : `["${shown(String(key))}"]`)).join('');
}

function shown(key: string): string {
  return key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH)}…` : key;
}

/** Returns whether a key was not sent. Its value is then undefined, which JSON cannot contain. */
function isMissing(issue: Issue): boolean {
  return issue.path.length > 0 && issue.input === undefined;
}

/** Returns the noun for an expected type. A number is an integer: the interface has no other number parameters. */
function nounOf(expected: string): string {
  switch (expected) {
    case 'boolean':
      return 'a boolean';
    case 'number':
    case 'int':
      return 'an integer';
    case 'string':
      return 'a string';
    case 'array':
    case 'tuple':
      return 'a list';
    case 'object':
    case 'record':
      return 'a dict';
    default:
      return `a ${expected}`;
  }
}

function tooBig(place: string, issue: z.core.$ZodIssueTooBig): string {
  if (issue.exact === true) return `${place} is not length ${issue.maximum}`;
  if (issue.origin === 'string') return `${place} is too long (limit: ${issue.maximum} characters)`;
  if (issue.origin === 'array') return `${place} is too long (limit: ${issue.maximum} items)`;
  return `${place} is too large`;
}

function tooSmall(place: string, issue: z.core.$ZodIssueTooSmall): string {
  if (issue.exact === true) return `${place} is not length ${issue.minimum}`;
  if (issue.origin === 'string')
    return Number(issue.minimum) === 1 ? `${place} cannot be blank` : `${place} is too short.`;
  if (issue.origin === 'array') return `${place} is too short.`;
  return `${place} is too small`;
}
