import type { User } from '../generated/prisma/client.ts';
import { BadRequestError } from '../platform/errors.ts';
import { userSetting, VISIBLE_TO_EVERYONE } from './user-settings.ts';

/** Of the whole address. @see RFC 5321 4.5.3 */
const MAX_ADDRESS_LENGTH = 254;
const LOCAL_PART = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
const LABEL = /^[\p{L}\p{N}]([\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u;

/** The domain of the addresses that stand in for hidden ones. "invalid" is reserved: no mail ever arrives there. */
const STAND_IN_DOMAIN = 'users.invalid';

/** The address the API knows a user by while the real one is hidden. */
export const standInAddress = (userId: number): string => `user${userId}@${STAND_IN_DOMAIN}`;

/** The user a stand-in address is of; undefined for any other address. */
export function userOfStandIn(address: string): number | undefined {
  const id = /^user([1-9]\d{0,9})@users\.invalid$/i.exec(address.trim())?.[1];
  return id === undefined ? undefined : Number(id);
}

/**
 * An e-mail address as it may be stored: without surrounding white space.
 *
 * @throws BadRequestError when it has not the form of an address that mail can be sent to.
 */
export function requireAddress(address: string): string {
  const stripped = address.trim();
  const at = stripped.lastIndexOf('@');
  const domain = stripped.slice(at + 1);
  const labels = domain.split('.');
  const valid =
    at > 0 &&
    at <= 64 &&
    stripped.length <= MAX_ADDRESS_LENGTH &&
    LOCAL_PART.test(stripped.slice(0, at)) &&
    // An encoded word, which some mail software decodes into another address altogether. @see RFC 2047 5
    !stripped.includes('=?') &&
    labels.every((label) => LABEL.test(label)) &&
    domain.toLowerCase() !== STAND_IN_DOMAIN;
  if (!valid) throw new BadRequestError('Bad name or username');
  return stripped;
}

/** What an API address is made of. */
export type Addressed = Pick<User, 'id' | 'email' | 'botType'> & { readonly emailAddressVisibility: number };

/** The address a user signs in with over the API: the real one where everyone may see it. */
export const apiEmail = (user: Pick<User, 'id' | 'email' | 'botType' | 'settings'>): string =>
  apiEmailOf({ ...user, emailAddressVisibility: userSetting(user, 'email_address_visibility') });

/** As `apiEmail`, of what is known of the user. */
export function apiEmailOf({ id, email, botType, emailAddressVisibility }: Addressed): string {
  if (botType !== null || emailAddressVisibility === VISIBLE_TO_EVERYONE) return email;
  return standInAddress(id);
}
