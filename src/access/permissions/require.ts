import { ForbiddenError, type MissingPermission } from '../../platform/errors.ts';
import {
  ORGANIZATION_GROUP_SETTINGS,
  type OrganizationGroupSettingName,
  organizationGroupSetting,
} from '../organization-settings.ts';
import type { GroupReader } from '../system-groups.ts';
import { type SystemGroups, systemGroups } from '../system-groups.ts';
import { isInGroup, type Person } from './membership.ts';

/** The data on which every check of a permission depends: the acting user, the role groups, and the current time. */
export interface ChannelActor {
  readonly person: Person;
  readonly groups: SystemGroups;
  readonly now: Date;
}

/** Returns the data on which checks of the permissions of `person` depend. Reads the role groups of their organization. */
export async function channelActor(db: GroupReader, person: Person, now: Date): Promise<ChannelActor> {
  return { person, groups: await systemGroups(db, person.organization.id), now };
}

/**
 * Returns the error for a viewer who lacks a permission or role.
 *
 * @param missing The missing permission, by its wire name, or the lowest role that can perform the action.
 */
export const insufficientPermission = (missing: MissingPermission = {}): ForbiddenError =>
  new ForbiddenError('Insufficient permission', missing);

/** Returns whether the user holds a permission of the organization. */
export function mayInOrganization({ person, groups, now }: ChannelActor, name: OrganizationGroupSettingName): boolean {
  const { everyone: guests } = ORGANIZATION_GROUP_SETTINGS[name];
  return isInGroup(groups, person, organizationGroupSetting(groups, person.organization, name), now, { guests });
}

/** Checks that the user holds a permission of the organization. @throws ForbiddenError if the user does not. */
export function requireInOrganization(channelActor: ChannelActor, name: OrganizationGroupSettingName): void {
  if (!mayInOrganization(channelActor, name)) throw insufficientPermission({ permission: name });
}
