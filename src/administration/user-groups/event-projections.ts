import { EventProjection, referenceProjection } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { GroupEventData, GroupSnapshot } from './events.ts';

/**
 * Event projection (the fields that an event alone provides) of a group, for events that contain only its id: `id` and
 * `databaseId`.
 */
export const groupReference = referenceProjection('UserGroup');

type ProjectedGroup = NonNullable<GroupEventData['group']>;

const identity = { idOf: ({ id }: ProjectedGroup) => id };
const databaseId = ({ id }: ProjectedGroup) => id;

const groupProjection = new EventProjection<GroupSnapshot>('UserGroup', identity, {
  databaseId,
  name: ({ name }) => name,
  description: ({ description }) => description,
  isRoleGroup: (group) => group.is_system_group,
  isDeactivated: ({ deactivated }) => deactivated,
  createdAt: ({ createdAt }) => (createdAt === null ? null : new Date(createdAt)),
  creator: { projection: userReference, of: (group) => group.creator_id },
});
const idAlone = new EventProjection<ProjectedGroup>('UserGroup', identity, { databaseId });

/**
 * Returns the event projection of the group in an event. It has all fields of the group's snapshot if the event contains the
 * snapshot, otherwise only the id.
 */
export const projectionOf = ({
  facts: { group },
}: {
  readonly facts: GroupEventData;
}): EventProjection<ProjectedGroup> =>
  (group !== null && 'name' in group ? groupProjection : idAlone) as EventProjection<ProjectedGroup>;
