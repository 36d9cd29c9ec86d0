import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { html } from '@remix-run/html-template';
import type { Page } from '../page.ts';
import { facts, link, live, status } from '../parts.ts';

export const overviewPages: readonly Page[] = [
  {
    method: 'get',
    path: '/',
    async show(visit) {
      const { deliveries } = await visit.call('getStats');
      return {
        title: 'Overview',
        main: live(
          'overview',
          5,
          html`<section class="panel" aria-label="Deliveries by status">
            ${facts(
              DELIVERY_STATUSES.map(
                (each) =>
                  [
                    each,
                    html`<a href="${link('/deliveries', { status: each })}"
                      >${deliveries[each] ?? 0} ${status(each)}</a
                    >`,
                  ] as const,
              ),
            )}
          </section>`,
        ),
      };
    },
  },
];
