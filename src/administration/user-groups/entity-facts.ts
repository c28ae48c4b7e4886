import { EntityFacts, referenceFacts } from '../../api/graphql/entity-facts.ts';
import { userReference } from '../../people/entity-facts.ts';
import type { GroupFacts, KnownGroup } from './events.ts';

/** A group of which an event knows the id alone. */
export const groupReference = referenceFacts('UserGroup');

type Known = NonNullable<KnownGroup['group']>;

const identity = { idOf: ({ id }: Known) => id };
const databaseId = ({ id }: Known) => id;

const groupFacts = new EntityFacts<GroupFacts>('UserGroup', identity, {
  databaseId,
  name: ({ name }) => name,
  description: ({ description }) => description,
  isRoleGroup: (group) => group.is_system_group,
  isDeactivated: ({ deactivated }) => deactivated,
  createdAt: ({ createdAt }) => (createdAt === null ? null : new Date(createdAt)),
  creator: { facts: userReference, of: (group) => group.creator_id },
});
const idAlone = new EntityFacts<Known>('UserGroup', identity, { databaseId });

/** What an event knows of the group it is about. */
export const factsAbout = ({ facts: { group } }: { readonly facts: KnownGroup }): EntityFacts<Known> =>
  (group !== null && 'name' in group ? groupFacts : idAlone) as EntityFacts<Known>;
