import { randomBytes } from 'node:crypto';
import type { User } from '../generated/prisma/client.ts';
import { type ErrorDetails, ValidationError } from '../platform/errors.ts';
import { UNREACHABLE } from '../platform/mail/outbox.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from './user-settings.ts';

/**
 * Maximum length of an email address in UTF-16 code units, including the domain. Longer addresses are refused with
 * `ValidationError`. @see RFC 5321 4.5.3
 */
const MAX_ADDRESS_LENGTH = 254;
const LOCAL_PART = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const LABEL = /^[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/** Domain of the placeholders for hidden email addresses. "invalid" is a reserved domain: no email ever arrives there. */
const STAND_IN_DOMAIN = 'users.invalid';
/** Domain of the addresses that the service creates for people whose address it cannot confirm. */
const CREATED_DOMAIN = `sign-in${UNREACHABLE}`;

/** Returns the placeholder address that the API shows for a user whose real email address is hidden. */
export const standInAddress = (userId: number): string => `user${userId}@${STAND_IN_DOMAIN}`;

/** Returns the id of the user whose placeholder address this is. Undefined for any other address. */
export function userOfStandIn(address: string): number | undefined {
  const id = /^user([1-9]\d{0,9})@users\.invalid$/i.exec(address.trim())?.[1];
  return id === undefined ? undefined : Number(id);
}

/**
 * Returns an email address in the form in which it is stored: without surrounding white space.
 *
 * @param details The parameter that contains the address. Default: `email`.
 * @throws ValidationError if it does not have the form of an address that can receive email.
 */
export function requireAddress(
  address: string,
  details: ErrorDetails = { parameter: 'email', schemaMessage: 'This is not a valid email address.' },
): string {
  const stripped = address.trim();
  const at = stripped.lastIndexOf('@');
  const domain = stripped.slice(at + 1);
  const labels = domain.split('.');
  const valid =
    at > 0 &&
    at <= 64 &&
    stripped.length <= MAX_ADDRESS_LENGTH &&
    LOCAL_PART.test(stripped.slice(0, at)) &&
    // Refuses encoded words, which some mail software decodes into a different address. @see RFC 2047 5
    !stripped.includes('=?') &&
    labels.every((label) => LABEL.test(label)) &&
    domain.toLowerCase() !== STAND_IN_DOMAIN;
  if (!valid) throw new ValidationError('Bad name or username', { ...details, value: address });
  return stripped;
}

/**
 * Returns whether two email addresses differ at most in letter case. The database compares addresses in lower case, in which some
 * different letters are equal: K and the Kelvin sign. Another person can have an address with such a letter, so an address that
 * an issuer confirms must pass this check as well.
 */
export const isSameAddress = (one: string, other: string): boolean =>
  one.toLowerCase() === other.toLowerCase() && one.toUpperCase() === other.toUpperCase();

/**
 * Returns a new address for a person whose own address cannot be confirmed: their name and 40 random bits. The person signs in
 * with it, and no email is sent to it.
 */
export function createdAddress(fullName: string): string {
  const letters = fullName.normalize('NFKD').toLowerCase().replace(/\p{M}/gu, '');
  const name = letters
    .replace(/[^a-z0-9]+/g, '.')
    .replace(/^\.+/, '')
    .slice(0, 40)
    .replace(/\.+$/, '');
  return `${name === '' ? 'user' : name}.${randomBytes(5).toString('hex')}@${CREATED_DOMAIN}`;
}

/** The fields of a user that determine the email address with which the user signs in over the API. */
export type Addressed = Pick<User, 'id' | 'email' | 'botType'> & { readonly emailAddressVisibility: number };

/**
 * Returns the email address that a user signs in with over the API: the real address if all users can see it, otherwise the
 * placeholder.
 */
export const apiEmail = (user: Pick<User, 'id' | 'email' | 'botType' | 'settings'>): string =>
  apiEmailOf({ ...user, emailAddressVisibility: userSetting(user, 'email_address_visibility') });

/** Returns the same address as `apiEmail`, from an object that has only the required fields of a user. */
export function apiEmailOf({ id, email, botType, emailAddressVisibility }: Addressed): string {
  if (botType !== null || emailAddressVisibility === VISIBLE_TO_EVERYONE) return email;
  return standInAddress(id);
}
