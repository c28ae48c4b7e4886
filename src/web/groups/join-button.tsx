import { useCommand } from '../api/use-command.ts';
import { type GroupLineFragment, UpdateGroupMembersDocument } from '../generated/graphql.ts';
import { nameOfGroup } from '../people/group-names.ts';
import { useViewer } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';

/** Button with which the viewer joins or leaves a group. Renders nothing if the viewer can do neither. */
export function JoinButton({ group }: { readonly group: GroupLineFragment }) {
  const { viewerId } = useViewer();
  const { run, refusal, isBusy } = useCommand(UpdateGroupMembersDocument);
  const { id: userGroupId, isDeactivated, viewerCanJoin, viewerCanLeave } = group;
  if (isDeactivated || !(viewerCanJoin || viewerCanLeave)) return null;
  const change = viewerCanJoin ? { addMemberIds: [viewerId] } : { removeMemberIds: [viewerId] };
  return (
    <>
      <Refusal>{refusal}</Refusal>
      <Button
        kind={viewerCanJoin ? 'primary' : 'plain'}
        disabled={isBusy}
        aria-label={`${viewerCanJoin ? 'Join' : 'Leave'} ${nameOfGroup(group)}`}
        onClick={() => void run({ input: { userGroupId, ...change } })}
      >
        {viewerCanJoin ? 'Join' : 'Leave'}
      </Button>
    </>
  );
}
