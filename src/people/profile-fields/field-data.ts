import type { ProfileField } from '../../generated/prisma/client.ts';
import { ValidationError } from '../../platform/errors.ts';
import { requireText } from '../../platform/text.ts';
import { shortValue } from '../../platform/validation.ts';
import { FIELD_TYPES } from './field-types.ts';
import { isLink } from './links.ts';

/** Data of a profile field that is a list of options or an external account, in the format of the REST API and the database. */
export type FieldData = Readonly<Record<string, unknown>>;

/** One option of a list. */
export interface Choice {
  /** The profile value that selects this option. */
  readonly key: string;
  readonly text: string;
}

/**
 * Maximum number of options in a list, and maximum length of an option's key or text in code points. More options and longer
 * texts are refused with `ValidationError`. They are limited because every client receives all fields in one response.
 */
const MAX_CHOICES = 500;
export const MAX_CHOICE_LENGTH = 100;
const PLACEHOLDER = '%(username)s';
/** Name of the parameter with the data of a field. GraphQL sends the options of a list as `choices`. */
const DATA = 'field_data';
const OPTIONS = `${DATA}["choices"]`;
const PATTERN = `${DATA}["url_pattern"]`;
/** GraphQL messages for data that belongs to another type of field. */
const NEEDS_CHOICES = 'A field of this type requires choices.';
const NEEDS_PATTERN = 'A field of this type requires a URL pattern.';

/** Subtype of an external account whose URL pattern is stored in the profile field. */
const CUSTOM = 'custom';

/**
 * Validates the data of a field and returns it as it is stored.
 *
 * @param data For a list of options `{<key>: {text, order}}`, where `order` is a number as text. For an external account
 *   `{subtype: "custom", url_pattern}`, where the pattern contains `%(username)s` once.
 * @returns JSON text. "" for a type that has no data.
 * @throws ValidationError if a list has no option, equal options or too many options.
 * @throws ValidationError if the subtype of an external account is unknown, or its pattern is not a URL.
 * @throws ValidationError if data is given for a type that has no data.
 */
export function requireFieldData(type: number, data: FieldData): string {
  if (type === FIELD_TYPES.DROPDOWN.id) return JSON.stringify(requireChoices(data));
  if (type === FIELD_TYPES.EXTERNAL_ACCOUNT.id) return JSON.stringify(requireAccount(data));
  if (Object.keys(data).length === 0) return '';
  throw new ValidationError('Field type does not take field_data.', {
    parameter: DATA,
    schemaMessage: 'A field of this type has no data.',
  });
}

function requireChoices(data: FieldData): FieldData {
  const given = Object.entries(data);
  if (given.length > MAX_CHOICES) {
    const message = `Field must have at most ${MAX_CHOICES} choices.`;
    throw new ValidationError(message, { parameter: OPTIONS, maximum: MAX_CHOICES });
  }
  const choices = given.map(([key, choice]) => requireChoice(key, choice));
  if (choices.length === 0) {
    throw new ValidationError('Field must have at least one choice.', { parameter: OPTIONS, minimum: 1 });
  }
  const keys = new Set(choices.map(([key]) => key));
  const texts = new Set(choices.map(([, { text }]) => text));
  if (Math.min(keys.size, texts.size) < choices.length) throw duplicateChoices();
  return Object.fromEntries(choices);
}

const duplicateChoices = (parameter = OPTIONS) =>
  new ValidationError('Field must not have duplicate choices.', { parameter });

function requireChoice(given: string, choice: unknown): [key: string, { text: string; order: string }] {
  const place = `field_data["${given.slice(0, 60)}"]`;
  if (given.trim() === '') throw new ValidationError(`Invalid ${place}`, { parameter: place });
  const key = requireText(place, given, { max: MAX_CHOICE_LENGTH });
  const { text, order, ...rest } = dictOf(place, choice);
  refuseMore(place, rest, NEEDS_CHOICES);
  const number = textOf(`${place}["order"]`, order);
  if (!/^\d{1,9}$/.test(number)) {
    throw new ValidationError(`Invalid ${place}["order"]`, { parameter: `${place}["order"]` });
  }
  return [key, { text: textOf(`${place}["text"]`, text, { max: MAX_CHOICE_LENGTH }), order: number }];
}

/**
 * Validates the data of an external account. The service predefines no sites, so the subtype must be "custom", and the data
 * must contain the URL pattern.
 */
function requireAccount({ subtype, url_pattern, ...rest }: FieldData): FieldData {
  refuseMore(DATA, rest, NEEDS_PATTERN);
  const parameter = `${DATA}["subtype"]`;
  if (textOf(parameter, subtype, { ifMissing: NEEDS_PATTERN }) !== CUSTOM) {
    throw new ValidationError('Invalid external account type', { parameter });
  }
  if (url_pattern === undefined) {
    throw new ValidationError('Custom external account must define URL pattern', { parameter: PATTERN });
  }
  const pattern = textOf(PATTERN, url_pattern);
  if (pattern.split(PLACEHOLDER).length !== 2) {
    throw new ValidationError(`URL pattern must contain '${PLACEHOLDER}'`, { parameter: PATTERN });
  }
  if (!isLink(pattern.replace(PLACEHOLDER, 'username'))) {
    throw new ValidationError(`${PATTERN} is not a URL`, { parameter: PATTERN, value: shortValue(pattern) });
  }
  return { subtype: CUSTOM, url_pattern: pattern };
}

function dictOf(place: string, value: unknown): Partial<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ValidationError(`${place} is not a dict`, { parameter: place, schemaMessage: NEEDS_CHOICES });
  }
  return { ...value };
}

interface TextOptions {
  readonly max?: number;
  /** GraphQL message if the text is missing. */
  readonly ifMissing?: string;
}

function textOf(place: string, value: unknown, { max, ifMissing }: TextOptions = {}): string {
  const parameter = place;
  if (value === undefined) {
    throw new ValidationError(`${place} field is missing`, { parameter, schemaMessage: ifMissing });
  }
  if (typeof value !== 'string') throw new ValidationError(`${place} is not a string`, { parameter });
  return requireText(place, value, { strip: true, min: 1, ...(max !== undefined && { max }) });
}

/**
 * Refuses keys that the data of a field must not have. `rest` contains these keys.
 *
 * @param schemaMessage GraphQL message of the error.
 * @throws ValidationError if `rest` has a key.
 */
function refuseMore(place: string, rest: object, schemaMessage: string): void {
  const [key] = Object.keys(rest);
  if (key === undefined) return;
  const message = `Argument "${key.slice(0, 60)}" at ${place} is unexpected`;
  throw new ValidationError(message, { parameter: place, schemaMessage });
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

/**
 * Returns the URL pattern of an external account, with the placeholder `%(username)s` for the user's account name. Undefined
 * for a field of another type.
 */
export function urlPatternOf({ type, fieldData }: Stored): string | undefined {
  if (type !== FIELD_TYPES.EXTERNAL_ACCOUNT.id) return undefined;
  return (JSON.parse(fieldData) as { url_pattern: string }).url_pattern;
}

/**
 * Returns the data of a list with these options, in this order.
 *
 * The keys and texts are validated here, because the data no longer contains their positions, which errors name.
 *
 * @throws ValidationError if a key or text is blank or too long, or two options have the same key or text.
 */
export function dataOfChoices(choices: readonly Choice[]): FieldData {
  const rules = { strip: true, min: 1, max: MAX_CHOICE_LENGTH };
  const [keys, texts] = [new Set<string>(), new Set<string>()];
  for (const [i, choice] of choices.slice(0, MAX_CHOICES).entries()) {
    const place = `${OPTIONS}[${i}]`;
    requireText(`${place}["key"]`, choice.key, rules);
    const text = requireText(`${place}["text"]`, choice.text, rules);
    if (keys.has(choice.key)) throw duplicateChoices(`${place}["key"]`);
    if (texts.has(text)) throw duplicateChoices(`${place}["text"]`);
    keys.add(choice.key);
    texts.add(text);
  }
  const data = Object.fromEntries(choices.map(({ key, text }, i) => [key, { text, order: String(i + 1) }]));
  if (Object.keys(data).length < choices.length) throw duplicateChoices();
  return data;
}

/** Returns the data of an external account with this URL pattern. */
export const dataOfAccount = (urlPattern: string): FieldData => ({ subtype: CUSTOM, url_pattern: urlPattern });
