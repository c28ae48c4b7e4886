import type { ProfileField } from '../../generated/prisma/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** What belongs to a list of options or an external account, in the form that clients send and the row keeps. */
export type FieldData = Readonly<Record<string, unknown>>;

/** One option of a list. */
export interface Choice {
  /** What a value says that chose it. */
  readonly key: string;
  readonly text: string;
}

/** Our choices: every client is sent all fields at once. Lengths in code points. */
const MAX_CHOICES = 500;
export const MAX_CHOICE_LENGTH = 100;
const PLACEHOLDER = '%(username)s';
/** The kind of account whose pages the field itself tells. */
const CUSTOM = 'custom';

/**
 * The data of a field of the type, as it is kept.
 *
 * @param data For a list of options `{<key>: {text, order}}`, where `order` is a number in text; for an external account
 *   `{subtype: "custom", url_pattern}`, where the pattern holds `%(username)s` once.
 * @returns JSON text; "" for a type that has no data.
 * @throws BadRequestError when there is no choice, two are alike or there are too many, when the account's site is not
 *   known or its pattern makes no URL, or when the type has no data and some is given.
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

/** Our choice: no site is known beforehand, so that the organisation says where each kind of account has its pages. */
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

/** The options of a list, in their order; undefined for a field of another type. */
export function choicesOf({ type, fieldData }: Stored): readonly Choice[] | undefined {
  if (type !== FIELD_TYPES.DROPDOWN.id) return undefined;
  // Checked when it was written.
  const choices = Object.entries(JSON.parse(fieldData) as Record<string, { text: string; order: string }>);
  return choices
    .sort(([, one], [, other]) => Number(one.order) - Number(other.order))
    .map(([key, { text }]) => ({ key, text }));
}

/** Where an external account's page is, with `%(username)s` for its name; undefined for a field of another type. */
export function urlPatternOf({ type, fieldData }: Stored): string | undefined {
  if (type !== FIELD_TYPES.EXTERNAL_ACCOUNT.id) return undefined;
  return (JSON.parse(fieldData) as { url_pattern: string }).url_pattern;
}

/**
 * The data of a list of these options, in this order.
 *
 * @throws BadRequestError when two have one key.
 */
export function dataOfChoices(choices: readonly Choice[]): FieldData {
  const data = Object.fromEntries(choices.map(({ key, text }, i) => [key, { text, order: String(i + 1) }]));
  if (Object.keys(data).length < choices.length) throw duplicateChoices();
  return data;
}

/** The data of an external account whose pages are where the pattern says. */
export const dataOfAccount = (urlPattern: string): FieldData => ({ subtype: CUSTOM, url_pattern: urlPattern });
