import type { FormEvent } from 'react';
import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  AddDomainDocument,
  DomainsPageDocument,
  type DomainsPageQuery,
  RemoveDomainDocument,
  UpdateDomainDocument,
} from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { act } from '../ui/act.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Check, Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { useSaved } from './use-saved.ts';

type Domain = NonNullable<DomainsPageQuery['organizationDomains']>['nodes'][number];

/** Domains whose email addresses can be used to join. Only owners can change them. */
export function Domains() {
  const { data } = useData(DomainsPageDocument, { after: null });
  const { emailsRestrictedToDomains = false, viewerCanManageDomains = false } = data?.organization ?? {};
  return (
    <>
      {data !== undefined && (
        <p className="soft">
          {emailsRestrictedToDomains
            ? 'Only people with an email address in one of these domains can join.'
            : 'Email addresses are not restricted to these domains.'}{' '}
          <Link to={addressOf({ name: 'settings', section: 'organization' })}>Change the restriction</Link>
        </p>
      )}
      {data !== undefined && !viewerCanManageDomains && <p className="soft">Only owners can change the domains.</p>}
      {viewerCanManageDomains && <NewDomain />}
      <ul className="plain-list" aria-label="Domains">
        <Pages of="domains">{(page) => <DomainsList page={page} />}</Pages>
      </ul>
    </>
  );
}

function NewDomain() {
  const { run, refusal, isBusy } = useCommand(AddDomainDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const input = { domain: String(data.get('domain')), allowSubdomains: data.get('allowSubdomains') !== null };
    if (await run({ input })) form.reset();
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Add a domain">
      <div className="field-and-button">
        <TextField label="Domain" name="domain" required maxLength={255} placeholder="example.com" />
        <Button type="submit" disabled={isBusy}>
          Add domain
        </Button>
      </div>
      <Check label="Include subdomains" name="allowSubdomains" />
      <Refusal>{refusal}</Refusal>
    </form>
  );
}

function DomainsList({ page }: { readonly page: ListPage }) {
  const read = useData(DomainsPageDocument, { after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.organizationDomains ?? {};
  const mayManage = read.data.organization?.viewerCanManageDomains === true;
  return (
    <>
      {nodes.map((domain) => (
        <DomainRow key={domain.id} domain={domain} mayManage={mayManage} />
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No domains.</li>}
      <More page={page} info={pageInfo}>
        More domains
      </More>
    </>
  );
}

function DomainRow({ domain, mayManage }: { readonly domain: Domain; readonly mayManage: boolean }) {
  const client = useClient();
  const { domain: name, allowSubdomains } = domain;
  const { shown, save } = useSaved(allowSubdomains, async (checked) => {
    const answer = await act(client, UpdateDomainDocument, { input: { domain: name, allowSubdomains: checked } });
    return answer !== undefined;
  });
  return (
    <li className="row">
      <div className="row-body">
        <strong>{name}</strong>
        {!mayManage && allowSubdomains && <p className="soft">Includes subdomains</p>}
      </div>
      {mayManage && (
        <div className="row-actions">
          <Check
            label="Subdomains"
            aria-label={`Subdomains of ${name}`}
            checked={shown}
            onChange={({ currentTarget: { checked } }) => void save(checked)}
          />
          <Button aria-label={`Remove ${name}`} onClick={() => openDialog(<Removal name={name} />)}>
            Remove
          </Button>
        </div>
      )}
    </li>
  );
}

function Removal({ name }: { readonly name: string }) {
  const { run, refusal, isBusy } = useCommand(RemoveDomainDocument);
  return (
    <Confirmation
      title={`Remove ${name}?`}
      action="Remove"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { domain: name } })}
    >
      Users who have already joined keep their accounts. If this is the last domain, email addresses are no longer
      restricted.
    </Confirmation>
  );
}
