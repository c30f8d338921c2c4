/** The log level of printed lines: from the line itself, else `info`. */
import { expect, test } from 'vitest'
import { levelOf } from '../../src/dataplane/output/log-level.ts'

test.each([
  ['{"level":50,"time":1,"msg":"pino"}', 'error'],
  ['{"level":20,"msg":"pino"}', 'debug'],
  ['{"level":"warn","msg":"zap"}', 'warning'],
  ['{"severity":"CRITICAL","message":"of Google"}', 'critical'],
  ['{"levelname":"WARNING","message":"of Python"}', 'warning'],
  ['{"log.level":"error","message":"of Elastic"}', 'error'],
  ['[agent-1] {"level":"error"}', 'error'],
  ['ERROR:root:of Python', 'error'],
  ['INFO:     Started server process [1]', 'info'],
  ['WARNING: You are using pip as root', 'warning'],
  ['fatal: couldn’t find remote ref', 'critical'],
  ['2026-01-01T00:00:00.000000Z [error    ] of structlog', 'error'],
  ['2026-01-01 12:00:00,123 DEBUG: with a time', 'debug'],
  ['[7f9c-x] ERROR: of a replica', 'error'],
  ['time=2026-01-01T00:00:00Z level=WARN msg="of Go"', 'warning'],
  ['level=error msg=broken', 'error'],
  ['[7f9c-x] level=error msg=broken', 'error'],
  ['[7f9c-x] 2026-01-01 12:00:00,123 [agent.py] ERROR: of a replica', 'error'],
])('%s', (line, level) => expect(levelOf(line)).toBe(level))

test.each([
  'Hello',
  '',
  '{',
  '{"message":"no level"}',
  '{"level":null}',
  '{"level":3,"lives":2}',
  '{"level":{"error":1}}',
  'null',
  '{"__proto__":{"level":"error"}}',
  'errors: 0',
  'Error handling is on',
  'http://error: no',
  'run with --log-level=error',
  'the level=error is not at its beginning as a pair',
  'TypeError: the way of JavaScript says no level',
  '    at error (file.js:1:1)',
])('a line without a level is info: %s', (line) => expect(levelOf(line)).toBe('info'))

test('the level of the longest line is found quickly', () => {
  for (const line of [
    'a="'.repeat(3_000),
    '['.repeat(8_000),
    '1'.repeat(8_000),
    'a=b '.repeat(2_000),
    '{'.repeat(8_000),
  ])
    for (let n = 0; n < 200; n++) expect(levelOf(line)).toBe('info')
})
