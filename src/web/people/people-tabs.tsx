import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';

/** Tabs with links to the list of users and the list of groups of the organization. */
export function PeopleTabs() {
  return (
    <nav className="tabs" aria-label="People and groups">
      <Link className="tab" to={addressOf({ name: 'people' })}>
        People
      </Link>
      <Link className="tab" to={addressOf({ name: 'groups' })}>
        Groups
      </Link>
    </nav>
  );
}
