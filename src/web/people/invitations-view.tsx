import type { ReactNode } from 'react';
import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  type InvitationLineFragment,
  InvitationsDocument,
  ResendInvitationDocument,
  RevokeInvitationDocument,
} from '../generated/graphql.ts';
import { act } from '../ui/act.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Header } from '../ui/header.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { CopyLink, InvitePeople } from './invite-people.tsx';
import { PeopleTabs } from './people-tabs.tsx';
import { ROLE_NAMES } from './roles.ts';

/** List of the invitations that the viewer can see, also expired ones, with a button that opens the form for new ones. */
export function InvitationsView({ menu }: { readonly menu: ReactNode }) {
  const read = useData(InvitationsDocument, {}, { requestPolicy: 'cache-and-network' });
  const { viewerCanInviteUsers = false, viewerCanCreateInviteLinks = false } = read.data?.organization ?? {};
  const mayInvite = viewerCanInviteUsers || viewerCanCreateInviteLinks;
  return (
    <>
      <Header menu={menu} title="Invitations" />
      <div className="page" data-section>
        <PeopleTabs />
        <section className="page-section" aria-label="Invitations">
          {mayInvite && (
            <div className="page-bar">
              <Button kind="primary" onClick={() => openDialog(<InvitePeople />)}>
                Invite people
              </Button>
            </div>
          )}
          {read.state === 'ready' && !mayInvite && (
            <p className="soft">You cannot invite people in this organization.</p>
          )}
          <ul className="plain-list" aria-label="Invitations">
            <Pages of="invitations">{(page) => <InvitationsPage page={page} />}</Pages>
          </ul>
        </section>
      </div>
    </>
  );
}

function InvitationsPage({ page }: { readonly page: ListPage }) {
  const read = useData(InvitationsDocument, { after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.organization?.invitations ?? {};
  return (
    <>
      {nodes.map((invitation) => (
        <InvitationRow key={invitation.id} invitation={invitation} />
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No invitations.</li>}
      <More page={page} info={pageInfo}>
        More invitations
      </More>
    </>
  );
}

function InvitationRow({ invitation }: { readonly invitation: InvitationLineFragment }) {
  const client = useClient();
  const { moment } = useClock();
  const { id, email, isReusable, linkUrl, role, inviter } = invitation;
  const name = isReusable ? 'Invitation link' : (email ?? '');
  const resend = async () => {
    const answer = await act(client, ResendInvitationDocument, { input: { invitationId: id } });
    if (answer !== undefined) notify(`The invitation to ${name} was sent again.`);
  };
  return (
    <li className="row">
      <div className="row-body">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <p className="soft">
          {ROLE_NAMES[role]}, from <bdi>{inviter.fullName}</bdi>
          {`, ${expiryOf(invitation, moment)}`}
        </p>
      </div>
      <div className="row-actions">
        {isReusable && linkUrl !== null && <CopyLink url={linkUrl} />}
        {!isReusable && (
          <Button aria-label={`Resend to ${name}`} onClick={() => void resend()}>
            Resend
          </Button>
        )}
        <Button
          aria-label={isReusable ? 'Revoke the link' : `Revoke ${name}`}
          onClick={() => openDialog(<Revocation invitation={invitation} />)}
        >
          Revoke
        </Button>
      </div>
    </li>
  );
}

function expiryOf({ expiresAt, isExpired }: InvitationLineFragment, moment: (time: string) => string): string {
  if (expiresAt === null) return 'does not expire';
  return `${isExpired ? 'expired' : 'expires'} ${moment(expiresAt)}`;
}

function Revocation({ invitation: { id, email, isReusable } }: { readonly invitation: InvitationLineFragment }) {
  const { run, refusal, isBusy } = useCommand(RevokeInvitationDocument);
  const revoke = async () => {
    const isDone = await run({ input: { invitationId: id } });
    if (isDone) notify('The invitation was revoked.');
    return isDone;
  };
  return (
    <Confirmation
      title={isReusable ? 'Revoke this link?' : `Revoke the invitation to ${email}?`}
      action="Revoke"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={revoke}
    >
      {isReusable ? 'The link can no longer be used to join.' : 'The link in the email can no longer be used.'}
    </Confirmation>
  );
}
