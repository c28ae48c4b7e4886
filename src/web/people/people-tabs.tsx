import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';

/** Links between the organization's users and its groups. */
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
