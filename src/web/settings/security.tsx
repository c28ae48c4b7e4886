import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  RequireSecondFactorDocument,
  type SecondFactorRequirement,
  SecurityRequirementDocument,
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

/** Requirements for the sign-in to the organization, which owners can change. */
export function Security() {
  const read = useData(SecurityRequirementDocument, {}, { requestPolicy: 'cache-and-network' });
  const { run, refusal, isBusy } = useCommand(RequireSecondFactorDocument);
  const [password, setPassword] = useState('');
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { viewer, organization } = read.data;
  if (viewer?.role !== 'OWNER' || !organization) return <p className="soft">Only owners can see these settings.</p>;
  return (
    <div className="form">
      <Choice<SecondFactorRequirement>
        label="Require a second factor for"
        hint="Users without one must add it when they next sign in with their password. They stay signed in until then. Single sign-on is not affected."
        options={OPTIONS}
        value={organization.secondFactorRequiredRole ?? 'NOBODY'}
        disabled={isBusy}
        onChoose={(secondFactorRequiredRole) =>
          void run({
            input: { secondFactorRequiredRole, ...(password !== '' && { currentPassword: password }) },
          })
        }
      />
      <PasswordField
        hint="Required only to choose fewer roles."
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      <Refusal>{refusal}</Refusal>
    </div>
  );
}
