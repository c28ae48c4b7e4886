import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  type SecondFactorRequirement,
  SecurityRequirementDocument,
  type UpdateOrganizationInput,
  UpdateSecurityDocument,
} from '../generated/graphql.ts';
import { Choice, PasswordField, Refusal } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';

const OPTIONS = [
  ['NOBODY', 'Nobody'],
  ['OWNERS', 'Owners'],
  ['ADMINISTRATORS', 'Owners and administrators'],
  ['MODERATORS', 'Owners, administrators and moderators'],
  ['MEMBERS', 'Everyone except guests'],
  ['EVERYONE', 'Everyone'],
] as const satisfies readonly (readonly [SecondFactorRequirement, string])[];

/** Numbers of days for which the audit log can be kept, with their names. */
const PERIODS = [
  ['-1', 'Until the limit of the server'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['180', '180 days'],
  ['365', 'One year'],
] as const;

/** Requirements for the sign-in to the organization and the period of its audit log, which owners can change. */
export function Security() {
  const read = useData(SecurityRequirementDocument, {}, { requestPolicy: 'cache-and-network' });
  const { run, refusal, isBusy } = useCommand(UpdateSecurityDocument);
  const [password, setPassword] = useState('');
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { viewer, organization } = read.data;
  if (viewer?.role !== 'OWNER' || !organization) return <p className="soft">Only owners can see these settings.</p>;
  const change = (input: UpdateOrganizationInput) =>
    void run({ input: { ...input, ...(password !== '' && { currentPassword: password }) } });
  const days = String(organization.auditLogDays ?? -1);
  const isListed = PERIODS.some(([period]) => period === days);
  return (
    <div className="form">
      <Choice<SecondFactorRequirement>
        label="Require a second factor for"
        hint="People without one are signed out, except you, and add it when they sign in again with their password. Single sign-on is not affected."
        options={OPTIONS}
        value={organization.secondFactorRequiredRole ?? 'NOBODY'}
        disabled={isBusy}
        onChoose={(secondFactorRequiredRole) => change({ secondFactorRequiredRole })}
      />
      <Choice
        label="Keep the audit log for"
        hint="Older entries are deleted. All owners get an email when the period becomes shorter."
        options={isListed ? PERIODS : [...PERIODS, [days, `${days} days`] as const]}
        value={days}
        disabled={isBusy}
        onChoose={(period) => change({ auditLogDays: Number(period) })}
      />
      <PasswordField
        hint="Required only to choose fewer roles or a shorter period."
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <Refusal>{refusal}</Refusal>
    </div>
  );
}
