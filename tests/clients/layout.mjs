// layout.mjs — how the pages of a workspace's console lie on a screen (measure.mjs says what is looked at); prints TAP.  Run by tests/cli/console_layout.t.
import { PAGES, Place, browser, finish, ok } from './place.mjs';
import { expected, judge, judgePlaces, look, write } from './measure.mjs';

const errors = [];
for (const isHostile of [false, true]) {
	const place = new Place(isHostile ? 'hostile' : 'home', !isHostile), of = isHostile ? 'with hostile texts ' : '';
	place.day(isHostile);
	await place.open();
	const act = place.receipts().find((r) => r.verdict === 'ESCALATE');
	const seen = await look({ link: place.link, origin: place.origin, isPlain: isHostile, wanted: expected(), addresses: [...PAGES.map((p) => [p, p]), ['act', 'act/' + act.decision_id], ['session', 'session/' + act.correlation_id], ['lost', 'nothing']] }, errors);
	await place.close();
	judge(of, seen, 2000, isHostile);
	if (isHostile) continue;
	if (process.env.LAYOUT === 'write') write(null, seen.found);
	judgePlaces('', seen);
}
ok('nothing was thrown', errors.length === 0, ...errors.slice(0, 5));
await browser.close();
finish();
