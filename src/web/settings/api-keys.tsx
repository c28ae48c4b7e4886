import { useData } from '../api/use-data.ts';
import { ApiKeysDocument, BotApiKeysDocument } from '../generated/graphql.ts';
import { NewKeyDialog, ReplaceKeyDialog } from '../people/api-key-forms.tsx';
import { KeyList } from '../people/api-key-list.tsx';
import { Button } from '../ui/button.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';

/** The viewer's API keys, and those of the viewer's bots. */
export function ApiKeys() {
  const read = useData(ApiKeysDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { viewer } = read.data;
  if (!viewer) return null;
  return (
    <div className="form">
      <p className="soft">
        Programs sign in with an API key. You can limit a named key to some kinds of requests, let it expire, and revoke
        it without affecting other keys.
      </p>
      <section className="form-section" aria-labelledby="own-keys">
        <h3 id="own-keys">Your keys</h3>
        <KeyList keys={viewer.apiKeys?.nodes ?? []} onChange={read.reload} />
        <div className="page-bar">
          <Button kind="primary" onClick={() => openDialog(<NewKeyDialog onDone={read.reload} />)}>
            Create a key
          </Button>
          <Button onClick={() => openDialog(<ReplaceKeyDialog />)}>Replace the default key</Button>
        </div>
      </section>
      {viewer.role !== 'GUEST' && (
        <ul className="plain-list form" aria-label="Your bots">
          <Pages of="own">{(page) => <BotKeys page={page} />}</Pages>
        </ul>
      )}
    </div>
  );
}

function BotKeys({ page }: { readonly page: ListPage }) {
  const read = useData(BotApiKeysDocument, { after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.ownBots ?? {};
  return (
    <>
      {nodes.map(({ id, fullName, apiKeys }) => (
        <li key={id}>
          <section className="form-section" aria-labelledby={`keys-${id}`}>
            <h3 id={`keys-${id}`}>
              <bdi>{`Keys of ${fullName}`}</bdi>
            </h3>
            <KeyList keys={apiKeys?.nodes ?? []} onChange={read.reload} />
            <div>
              <Button onClick={() => openDialog(<NewKeyDialog bot={{ id, fullName }} onDone={read.reload} />)}>
                {`Create a key for ${fullName}`}
              </Button>
            </div>
          </section>
        </li>
      ))}
      <More page={page} info={pageInfo}>
        More bots
      </More>
    </>
  );
}
