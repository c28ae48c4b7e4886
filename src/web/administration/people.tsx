import { useData } from '../api/use-data.ts';
import { InvitationChoicesDocument } from '../generated/graphql.ts';
import { InvitePeople } from '../people/invite-people.tsx';
import { PeopleList } from '../people/people-list.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Button } from '../ui/button.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Failure } from '../ui/not-ready.tsx';

/** List of all users, each with a menu to administer the account. */
export function People() {
  const read = useData(InvitationChoicesDocument, {}, { requestPolicy: 'cache-and-network' });
  const { viewerCanInviteUsers = false, viewerCanCreateInviteLinks = false } = read.data?.organization ?? {};
  return (
    <>
      <p className="soft">
        Use the menu next to a name to change the role, reset the password, list sessions and API keys, or deactivate
        the account. See also the <Link to={addressOf({ name: 'invitations' })}>invitations</Link>.
      </p>
      <Failure of={read} />
      <PeopleList isAdministration>
        {(viewerCanInviteUsers || viewerCanCreateInviteLinks) && (
          <Button kind="primary" onClick={() => openDialog(<InvitePeople />)}>
            Invite people
          </Button>
        )}
      </PeopleList>
    </>
  );
}
