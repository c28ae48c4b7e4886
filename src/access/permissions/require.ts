import { BadRequestError } from '../../platform/errors.ts';
import { REALM_GROUP_SETTINGS, type RealmGroupSettingName, realmGroupSetting } from '../realm-settings.ts';
import type { GroupReader } from '../system-groups.ts';
import { type SystemGroups, systemGroups } from '../system-groups.ts';
import { isInGroup, type Person } from './membership.ts';

/** The acting user, with the role groups and the current time, on which every check of a permission depends. */
export interface ChannelActor {
  readonly person: Person;
  readonly groups: SystemGroups;
  readonly now: Date;
}

/** Returns the user as an actor for checks of permissions. */
export async function channelActor(db: GroupReader, person: Person, now: Date): Promise<ChannelActor> {
  return { person, groups: await systemGroups(db, person.realm.id), now };
}

export const insufficientPermission = (): BadRequestError => new BadRequestError('Insufficient permission');

/** Returns whether the user holds a permission of the organization. */
export function mayInRealm({ person, groups, now }: ChannelActor, name: RealmGroupSettingName): boolean {
  const { everyone: guests } = REALM_GROUP_SETTINGS[name];
  return isInGroup(groups, person, realmGroupSetting(groups, person.realm, name), now, { guests });
}

/** Checks that the user holds a permission of the organization. @throws BadRequestError if the user does not. */
export function requireInRealm(channelActor: ChannelActor, name: RealmGroupSettingName): void {
  if (!mayInRealm(channelActor, name)) throw insufficientPermission();
}
