import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';

/** Tabs that link the list of the organization's users and the list of its groups. */
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
