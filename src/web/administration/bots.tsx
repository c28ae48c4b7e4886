import { useState } from 'react';
import { useData } from '../api/use-data.ts';
import { AllBotsDocument, type BotRowFragment, OwnBotsDocument } from '../generated/graphql.ts';
import { PersonMenuButton } from '../people/person-menu.tsx';
import { PersonRow } from '../people/person-row.tsx';
import { useRights, useViewer } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Choice } from '../ui/form.tsx';
import type { MenuItem } from '../ui/menu.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { BotKeys, CreateBot, EditBot, NewKey } from './bot-dialogs.tsx';

const KINDS = [
  ['own', 'Your bots'],
  ['active', 'All bots'],
  ['deactivated', 'Deactivated'],
] as const;
type Kind = (typeof KINDS)[number][0];

/** The viewer's bots and, for administrators, all bots of the organization. */
export function Bots() {
  const { viewer } = useViewer();
  const { viewerCanCreateBots = false } = useRights();
  const isAdministrator = viewer?.role === 'OWNER' || viewer?.role === 'ADMINISTRATOR';
  const [kind, setKind] = useState<Kind>(isAdministrator ? 'active' : 'own');
  return (
    <>
      <p className="soft">A bot is a program with its own account and API key.</p>
      <div className="page-bar">
        {isAdministrator && <Choice label="Show" options={KINDS} value={kind} onChoose={setKind} />}
        {viewerCanCreateBots && (
          <Button kind="primary" onClick={() => openDialog(<CreateBot />)}>
            Create bot
          </Button>
        )}
      </div>
      <ul className="plain-list" aria-label="Bots">
        <Pages of={kind}>{(page) => <BotsPage page={page} kind={kind} />}</Pages>
      </ul>
    </>
  );
}

function BotsPage({ page: { after, onMore }, kind }: { readonly page: ListPage; readonly kind: Kind }) {
  const policy = { requestPolicy: 'cache-and-network' } as const;
  const own = useData(OwnBotsDocument, { after }, { ...policy, pause: kind !== 'own' });
  const all = useData(AllBotsDocument, { after, isActive: kind === 'active' }, { ...policy, pause: kind === 'own' });
  const read = kind === 'own' ? own : all;
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.bots ?? {};
  return (
    <>
      {nodes.map((bot) => (
        <BotRow key={bot.id} bot={bot} />
      ))}
      {nodes.length === 0 && after === null && <li className="row soft">No bots.</li>}
      <More page={{ after, onMore }} info={pageInfo}>
        More bots
      </More>
    </>
  );
}

function BotRow({ bot }: { readonly bot: BotRowFragment }) {
  const { email, botOwner, isActive } = bot;
  const items: readonly MenuItem[] =
    bot.bot === null || !isActive
      ? []
      : [
          { label: 'Edit…', icon: 'edit', onChoose: () => openDialog(<EditBot bot={bot} />) },
          { label: 'API keys…', icon: 'lock', onChoose: () => openDialog(<BotKeys bot={bot} />) },
          { label: 'New API key…', icon: 'lock', onChoose: () => openDialog(<NewKey bot={bot} />) },
        ];
  return (
    <PersonRow person={bot} detail={botOwner === null ? email : `${email}, owned by ${botOwner.fullName}`}>
      <PersonMenuButton person={bot} items={items} />
    </PersonRow>
  );
}
