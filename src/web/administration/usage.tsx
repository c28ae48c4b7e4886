import { useId } from 'react';
import { useData } from '../api/use-data.ts';
import { UsagePageDocument, type UsagePageQuery } from '../generated/graphql.ts';
import { NotReady } from '../ui/not-ready.tsx';

/** A number with its limit. */
interface Line {
  readonly label: string;
  readonly used: number | null | undefined;
  /** Null for no limit. */
  readonly limit: number | null;
  readonly unit?: string;
}

/** Number of objects in the organization, with the limits of the server. */
export function Usage() {
  const read = useData(UsagePageDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { organization, serverSettings } = read.data;
  const { totals } = serverSettings;
  return (
    <div className="form">
      <UsageTable title="Users" lines={usersIn(read.data)} />
      <UsageTable
        title="Organization"
        lines={[
          { label: 'Channels', used: read.data.channels?.totalCount, limit: totals.maxChannels },
          { label: 'Channel folders', used: read.data.channelFolders?.totalCount, limit: totals.maxChannelFolders },
          { label: 'Groups', used: read.data.userGroups?.totalCount, limit: totals.maxUserGroups },
          { label: 'Custom emoji', used: read.data.customEmoji?.totalCount, limit: totals.maxCustomEmoji },
          {
            label: 'Profile fields',
            used: read.data.customProfileFields?.length,
            limit: totals.maxCustomProfileFields,
          },
          { label: 'Domains', used: read.data.organizationDomains?.totalCount, limit: totals.maxOrganizationDomains },
          { label: 'Invitations', used: organization?.invitations?.totalCount, limit: totals.maxInvitations },
          {
            label: 'Identity providers',
            used: organization?.identityProviders?.totalCount,
            limit: totals.maxIdentityProviders,
          },
          {
            label: 'Uploaded files',
            used: mibOf(organization?.uploadSpaceUsed),
            limit: organization?.uploadQuotaMib ?? null,
            unit: ' MiB',
          },
          { label: 'Requests per minute', used: null, limit: organization?.maxRequestsPerMinute ?? null },
          {
            label: 'Invitations by email in 24 hours',
            used: organization?.invitationEmailsSent,
            limit: organization?.invitationEmailsPerDay ?? null,
          },
        ]}
      />
      <UsageTable
        title="Limits per user"
        lines={[
          { label: 'Uploaded files', used: undefined, limit: totals.maxAttachments },
          {
            label: 'Total size of uploaded files',
            used: undefined,
            limit: totals.maxAttachmentsTotalMib,
            unit: ' MiB',
          },
          { label: 'Channels created', used: undefined, limit: totals.maxChannelsPerUser },
          { label: 'Bots', used: undefined, limit: totals.maxBotsPerUser },
          { label: 'Sessions', used: undefined, limit: totals.maxSessions },
          { label: 'Scheduled messages', used: undefined, limit: totals.maxScheduledMessages },
          { label: 'Drafts', used: undefined, limit: totals.maxDrafts },
          { label: 'Reminders', used: undefined, limit: totals.maxReminders },
        ]}
      />
      <p className="soft">The operator of the server sets the limits.</p>
    </div>
  );
}

const usersIn = ({ organization, people, guests, bots, deactivated }: UsagePageQuery): readonly Line[] => [
  { label: 'Active people', used: people?.totalCount, limit: organization?.maxActiveUsers ?? null },
  { label: 'Of these, guests', used: guests?.totalCount, limit: null },
  { label: 'Active bots', used: bots?.totalCount, limit: null },
  { label: 'Deactivated users', used: deactivated?.totalCount, limit: null },
];

const MIB = 1_048_576;
const mibOf = (bytes: number | null | undefined): number | undefined =>
  bytes == null ? undefined : Math.round((bytes / MIB) * 10) / 10;

/** Columns without a value are left out. */
function UsageTable({ title, lines }: { readonly title: string; readonly lines: readonly Line[] }) {
  const id = useId();
  const withUse = lines.some(({ used }) => used !== undefined);
  const withLimit = lines.some(({ limit }) => limit !== null);
  return (
    <section className="form-section" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      <table className="usage" aria-labelledby={id}>
        <thead>
          <tr>
            <th scope="col">Kind</th>
            {withUse && <th scope="col">In use</th>}
            {withLimit && <th scope="col">Limit</th>}
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <UsageRow key={line.label} line={line} withUse={withUse} withLimit={withLimit} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  readonly line: Line;
  readonly withUse: boolean;
  readonly withLimit: boolean;
}

function UsageRow({ line: { label, used, limit, unit = '' }, withUse, withLimit }: RowProps) {
  const shown = (value: number | null | undefined) => (value == null ? '–' : `${value.toLocaleString('en')}${unit}`);
  return (
    <tr>
      <th scope="row">
        {label}
        {used != null && limit !== null && limit > 0 && (
          <meter aria-label={`${label} in use`} min={0} max={limit} high={0.9 * limit} value={used} />
        )}
      </th>
      {withUse && <td>{shown(used)}</td>}
      {withLimit && <td>{limit === null ? 'Unlimited' : shown(limit)}</td>}
    </tr>
  );
}
