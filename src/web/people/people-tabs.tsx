import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';

/** Tabs with links to the lists of users, groups and invitations of the organization. */
export function PeopleTabs() {
  return (
    <nav className="tabs" aria-label="People and groups">
      <Link className="tab" to={addressOf({ name: 'people' })}>
        People
      </Link>
      <Link className="tab" to={addressOf({ name: 'groups' })}>
        Groups
      </Link>
      <Link className="tab" to={addressOf({ name: 'invitations' })}>
        Invitations
      </Link>
    </nav>
  );
}
