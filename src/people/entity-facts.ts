import { apiEmailOf } from '../access/address.ts';
import { EntityFacts, referenceFacts } from '../api/graphql/entity-facts.ts';
import { avatarUrl, type Requester, toMinute, type UserFacts, visibleEmail } from './wire.ts';

/** A user of whom an event knows everything, and who looks. */
export interface KnownUser {
  readonly user: UserFacts;
  readonly viewer: Requester;
}

/** A user of whom an event knows the id alone. */
export const userReference = referenceFacts('User');

/** What an event knows of a user that stands in it whole. */
export const userFacts = new EntityFacts<KnownUser>(
  'User',
  { idOf: ({ user }) => user.id },
  {
    databaseId: ({ user }) => user.id,
    fullName: ({ user }) => user.fullName,
    email: ({ user }) => apiEmailOf(user),
    deliveryEmail: ({ user, viewer }) => visibleEmail(user, viewer),
    role: ({ user }) => user.role,
    isActive: ({ user }) => user.isActive,
    isBot: ({ user }) => user.botType !== null,
    botType: ({ user }) => user.botType,
    botOwner: { facts: userReference, of: ({ user }) => user.botOwnerId },
    timezone: ({ user }) => user.timezone,
    avatarUrl: ({ user }, { size }) => avatarUrl(user, size === 'MEDIUM' ? 'medium' : undefined),
    avatarSource: ({ user }) => user.avatarSource,
    avatarVersion: ({ user }) => user.avatarVersion,
    joinedAt: ({ user }) => new Date(toMinute(user.joinedAt)),
    isImportedStub: ({ user }) => user.isImportedStub,
    isDeleted: ({ user }) => user.isDeleted,
  },
);
