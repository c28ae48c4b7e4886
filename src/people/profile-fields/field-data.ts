import type { ProfileField } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** Data of a list of options or an external account, in the format that clients send and the row stores. */
export type FieldData = Readonly<Record<string, unknown>>;

/** One option of a list. */
export interface Choice {
  /** The profile value that selects this option. */
  readonly key: string;
  readonly text: string;
}

/**
 * Maximum number of options, and maximum length of a key or text in code points. Bounded because every client receives all
 * fields in one response.
 */
const MAX_CHOICES = 500;
export const MAX_CHOICE_LENGTH = 100;
const PLACEHOLDER = '%(username)s';
/** Subtype of an external account for which the field itself contains the URL pattern. */
const CUSTOM = 'custom';

/**
 * Validates the data of a field and returns it as it is stored.
 *
 * @param data For a list of options `{<key>: {text, order}}`, where `order` is a number as text. For an external account
 *   `{subtype: "custom", url_pattern}`, where the pattern contains `%(username)s` once.
 * @returns JSON text. "" for a type that has no data.
 * @throws BadRequestError if there is no option, two options are equal, or there are too many options; if the account's subtype
 *   is unknown or its pattern is not a URL; or if data is given for a type that has none.
 */
export function requireFieldData(type: number, data: FieldData): string {
  if (type === FIELD_TYPES.DROPDOWN.id) return JSON.stringify(requireChoices(data));
  if (type === FIELD_TYPES.EXTERNAL_ACCOUNT.id) return JSON.stringify(requireAccount(data));
  if (Object.keys(data).length > 0) throw new BadRequestError('Field type does not take field_data.');
  return '';
}

function requireChoices(data: FieldData): FieldData {
  const given = Object.entries(data);
  if (given.length > MAX_CHOICES) throw new BadRequestError(`Field must have at most ${MAX_CHOICES} choices.`);
  const choices = given.map(([key, choice]) => requireChoice(key, choice));
  if (choices.length === 0) throw new BadRequestError('Field must have at least one choice.');
  const keys = new Set(choices.map(([key]) => key));
  const texts = new Set(choices.map(([, { text }]) => text));
  if (Math.min(keys.size, texts.size) < choices.length) throw duplicateChoices();
  return Object.fromEntries(choices);
}

const duplicateChoices = () => new BadRequestError('Field must not have duplicate choices.');

function requireChoice(given: string, choice: unknown): [key: string, { text: string; order: string }] {
  const place = `field_data["${given.slice(0, 60)}"]`;
  if (given.trim() === '') throw new BadRequestError(`Invalid ${place}`);
  const key = requireText(place, given, { max: MAX_CHOICE_LENGTH });
  const { text, order, ...rest } = dictOf(place, choice);
  refuseMore(place, rest);
  const number = textOf(`${place}["order"]`, order);
  if (!/^\d{1,9}$/.test(number)) throw new BadRequestError(`Invalid ${place}["order"]`);
  return [key, { text: textOf(`${place}["text"]`, text, MAX_CHOICE_LENGTH), order: number }];
}

/**
 * Validates the data of an external account. No sites are predefined: the organization sets the URL pattern of each
 * kind.
 */
function requireAccount({ subtype, url_pattern, ...rest }: FieldData): FieldData {
  refuseMore('field_data', rest);
  if (textOf('field_data["subtype"]', subtype) !== CUSTOM) throw new BadRequestError('Invalid external account type');
  if (url_pattern === undefined) throw new BadRequestError('Custom external account must define URL pattern');
  const pattern = textOf('field_data["url_pattern"]', url_pattern);
  if (pattern.split(PLACEHOLDER).length !== 2) throw new BadRequestError(`URL pattern must contain '${PLACEHOLDER}'`);
  if (!isLink(pattern.replace(PLACEHOLDER, 'username'))) {
    throw new BadRequestError('field_data["url_pattern"] is not a URL');
  }
  return { subtype: CUSTOM, url_pattern: pattern };
}

function dictOf(place: string, value: unknown): Partial<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadRequestError(`${place} is not a dict`);
  }
  return { ...value };
}

function textOf(place: string, value: unknown, max = Number.POSITIVE_INFINITY): string {
  if (value === undefined) throw new BadRequestError(`${place} field is missing`);
  if (typeof value !== 'string') throw new BadRequestError(`${place} is not a string`);
  return requireText(place, value, { strip: true, min: 1, max });
}

function refuseMore(place: string, rest: object): void {
  const [key] = Object.keys(rest);
  if (key !== undefined) throw new BadRequestError(`Argument "${key.slice(0, 60)}" at ${place} is unexpected`);
}

type Stored = Pick<ProfileField, 'type' | 'fieldData'>;

/** Returns the options of a list, in order. Undefined for a field of another type. */
export function choicesOf({ type, fieldData }: Stored): readonly Choice[] | undefined {
  if (type !== FIELD_TYPES.DROPDOWN.id) return undefined;
  // The stored JSON was validated when it was written.
  const choices = Object.entries(JSON.parse(fieldData) as Record<string, { text: string; order: string }>);
  return choices
    .sort(([, one], [, other]) => Number(one.order) - Number(other.order))
    .map(([key, { text }]) => ({ key, text }));
}

/** Returns the URL of an external account, with `%(username)s` for its name. Undefined for a field of another type. */
export function urlPatternOf({ type, fieldData }: Stored): string | undefined {
  if (type !== FIELD_TYPES.EXTERNAL_ACCOUNT.id) return undefined;
  return (JSON.parse(fieldData) as { url_pattern: string }).url_pattern;
}

/**
 * Returns the data of a list with these options, in this order.
 *
 * @throws BadRequestError if two options have the same key.
 */
export function dataOfChoices(choices: readonly Choice[]): FieldData {
  const data = Object.fromEntries(choices.map(({ key, text }, i) => [key, { text, order: String(i + 1) }]));
  if (Object.keys(data).length < choices.length) throw duplicateChoices();
  return data;
}

/** Returns the data of an external account with this URL pattern. */
export const dataOfAccount = (urlPattern: string): FieldData => ({ subtype: CUSTOM, url_pattern: urlPattern });
