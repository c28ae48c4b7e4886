import type { z } from 'zod';
import { ValidationError } from './errors.ts';

/**
 * Maximum length of a JSON key that an error message shows in full. Longer keys are cut. A client can send a key of a megabyte.
 */
const SHOWN_KEY_LENGTH = 60;

type Issue = z.core.$ZodIssue;

/** Maximum length of a refused value that an error contains, in UTF-16 code units. Longer values are omitted. */
const SHOWN_VALUE_LENGTH = 100;

/**
 * Returns the error for the first problem of a parameter, with the wording of the REST interface. Its `parameter` is the path
 * to the invalid value in the parameter, such as `drafts[0]["content"]`.
 *
 * @param name The parameter's name.
 * @param issues From zod with `reportInput`, which distinguishes a missing key from a wrong value.
 */
export function problemOf(name: string, issues: readonly Issue[]): ValidationError {
  const issue = deepest(issues);
  if (issue === undefined) return new ValidationError(`Invalid ${name}`, { parameter: name });
  const place = placeOf(name, issue.path);
  const message = messageOf(place, issue);
  return new ValidationError(message, {
    parameter: place,
    // GraphQL replaces the place at the beginning of a message by the name of the argument.
    schemaMessage: message.startsWith(place) ? undefined : 'The value is not one of the accepted values',
    ...boundsOf(issue),
    value: shortValue(issue.input),
  });
}

/** Returns the bounds that an issue states. Bounds of big integers are omitted: `number` cannot contain them exactly. */
function boundsOf(issue: Issue): { readonly minimum?: number; readonly maximum?: number } {
  const isExact = (issue.code === 'too_small' || issue.code === 'too_big') && issue.exact === true;
  if (issue.code === 'too_small' && typeof issue.minimum === 'number') {
    // A number must be greater than an exclusive bound. All numbers with such bounds are integers.
    const minimum = issue.inclusive === false ? issue.minimum + 1 : issue.minimum;
    return isExact ? { minimum, maximum: minimum } : { minimum };
  }
  if (issue.code === 'too_big' && typeof issue.maximum === 'number') {
    const maximum = issue.inclusive === false ? issue.maximum - 1 : issue.maximum;
    return isExact ? { minimum: maximum, maximum } : { maximum };
  }
  return {};
}

/** Returns a refused value if it is a number or a short text. Other values are omitted from errors. */
export function shortValue(value: unknown): string | number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && value.length <= SHOWN_VALUE_LENGTH ? value : undefined;
}

function messageOf(place: string, issue: Issue): string {
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
 * Returns the first issue that zod reports. For a union, it returns the issue of the member in which validation got furthest.
 * If the value matches no member even in part, returns the issue of the union itself.
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

/** Returns the path to a value within a parameter: `name["key"][0]`. */
function placeOf(name: string, path: readonly PropertyKey[]): string {
  return name + path.map((key) => (typeof key === 'number' ? `[${key}]` : `["${shown(String(key))}"]`)).join('');
}

function shown(key: string): string {
  return key.length > SHOWN_KEY_LENGTH ? `${key.slice(0, SHOWN_KEY_LENGTH)}…` : key;
}

/** Returns whether the issue is a key that was not sent. The value of such a key is undefined, which JSON cannot contain. */
function isMissing(issue: Issue): boolean {
  return issue.path.length > 0 && issue.input === undefined;
}

/** Returns the noun for an expected type. Numbers are called integers, because the interface has no other number parameters. */
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
