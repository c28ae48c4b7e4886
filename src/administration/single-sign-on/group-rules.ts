import { z } from 'zod';
import type { Scope, Viewer } from '../../access/context.ts';
import { systemGroups } from '../../access/system-groups.ts';
import { everyone } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import type { IdentityProvider, Organization, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ConflictError } from '../../platform/errors.ts';
import { MEMBER, OWNER } from '../../platform/roles.ts';
import { settleMemberships, subjectOf } from '../user-groups/access.ts';
import { groupMembersAdded, groupMembersRemoved } from '../user-groups/events.ts';
import { membersChanged, writeMembers } from '../user-groups/members.ts';
import { changeRole, requireRoleChange } from '../users/service.ts';

const GroupRules = z.array(
  z.object({
    /** Value that the groups claim must contain, compared exactly. */
    value: z.string(),
    /** Role that these people get: 100, 200, 300, 400 or 600. Null: the rule gives no role. */
    role: z.int().nullable(),
    /** Ids of the groups to which these people are added. */
    groupIds: z.array(z.int()),
  }),
);
/** The role and the groups that people get if their groups claim contains `value`. */
export type GroupRule = z.output<typeof GroupRules>[number];

export const groupRulesOf = ({ groupRules }: Pick<IdentityProvider, 'groupRules'>): GroupRule[] =>
  GroupRules.parse(groupRules);

/** Returns the rules that apply to a person. @param groups Values of the person's groups claim. */
const matching = (provider: IdentityProvider, groups: readonly string[]): GroupRule[] =>
  groupRulesOf(provider).filter(({ value }) => groups.includes(value));

/** Returns the role with the most rights among those that rules give. Undefined if no rule gives a role. */
const roleIn = (rules: readonly GroupRule[]): number | undefined => {
  const roles = rules.flatMap(({ role }) => (role === null ? [] : [role]));
  return roles.length === 0 ? undefined : Math.min(...roles);
};

/** Returns the role of a new user: the highest that the rules give, or member. */
export const firstRole = (provider: IdentityProvider, groups: readonly string[] | undefined): number =>
  roleIn(matching(provider, groups ?? [])) ?? MEMBER;

/** A user who signs in, with the values of the groups claim. */
interface SigningIn {
  readonly user: User;
  readonly organization: Organization;
  readonly provider: IdentityProvider;
  readonly groups: readonly string[];
}

/**
 * Applies the rules of a provider to a user. The user gets the highest role, and all groups, of the matching rules. If a role
 * or group of the user is named by a rule, but by no matching rule, the user loses it. A role that no rule names can be raised,
 * but is not lowered. The only owner keeps the role. The transaction must hold the lock of the organization's row.
 */
export async function applyGroupRules(tx: Tx, emit: Emit, scope: Scope, signingIn: SigningIn): Promise<void> {
  const { provider, groups } = signingIn;
  const rules = groupRulesOf(provider);
  if (rules.length === 0) return;
  const given = matching(provider, groups);
  await applyRole(tx, emit, scope, signingIn, { given: roleIn(given), managed: rules.map(({ role }) => role) });
  await applyGroups(tx, emit, scope, signingIn, {
    wanted: new Set(given.flatMap(({ groupIds }) => groupIds)),
    managed: [...new Set(rules.flatMap(({ groupIds }) => groupIds))],
  });
}

async function applyRole(
  tx: Tx,
  emit: Emit,
  scope: Scope,
  { user, organization, provider }: SigningIn,
  { given, managed }: { readonly given: number | undefined; readonly managed: readonly (number | null)[] },
): Promise<void> {
  const role = given ?? MEMBER;
  const isRaise = role < user.role;
  // A lower number means more rights.
  if (role === user.role || (isRaise ? given === undefined : !managed.includes(user.role))) return;
  // The owner who configured the provider permits all roles.
  const viewer: Viewer = {
    ...{ organization, user, id: user.id, role: OWNER, clientName: 'Single sign-on', credential: null },
  };
  try {
    await requireRoleChange(tx, { ...scope, viewer }, user, role);
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    const facts = { organization: organization.id, user: user.id, provider: provider.slug };
    scope.app.log.warn(facts, 'the only owner keeps the role');
    return;
  }
  await changeRole(tx, emit, { ...scope, viewer }, user, role);
}

async function applyGroups(
  tx: Tx,
  emit: Emit,
  { app, organizationId }: Scope,
  { user, organization }: SigningIn,
  { wanted, managed }: { readonly wanted: ReadonlySet<number>; readonly managed: readonly number[] },
): Promise<void> {
  if (managed.length === 0) return;
  const groups = await tx.userGroup.findMany({
    where: { organizationId, id: { in: [...managed] }, isSystem: false, deactivatedAt: null },
    orderBy: { id: 'asc' },
  });
  const held = await tx.userGroupMember.findMany({
    where: { organizationId, userId: user.id, groupId: { in: [...managed] } },
    select: { groupId: true },
  });
  const heldIds = new Set(held.map(({ groupId }) => groupId));
  const changed = groups.filter(({ id }) => wanted.has(id) !== heldIds.has(id));
  for (const group of changed) {
    if (wanted.has(group.id)) {
      await writeMembers(tx, group, [user]);
      emit(groupMembersAdded(subjectOf(group), [user.id]), everyone());
      emit.audit(membersChanged('group_members_added', group, [user.id]));
    } else {
      await tx.userGroupMember.deleteMany({ where: { organizationId, groupId: group.id, userId: user.id } });
      emit(groupMembersRemoved(subjectOf(group), [user.id]), everyone());
      emit.audit(membersChanged('group_members_removed', group, [user.id]));
    }
  }
  if (changed.length === 0) return;
  const person = { organization, user, id: user.id, role: user.role };
  const actor = { person, groups: await systemGroups(tx, organizationId), now: app.now() };
  await settleMemberships(tx, emit, actor, [user.id]);
}
