/** Tests the grammar of image references: parsed parts and messages for invalid ones. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ImageReference, parseImageReference } from '../../src/domain/values/image-reference.ts'

/** Joins the parts of a reference. */
function formatImageReference({ host, path, tag, digest }: ImageReference): string {
  return `${host === null ? '' : `${host}/`}${path}${tag === null ? '' : `:${tag}`}${digest === null ? '' : `@${digest}`}`
}

const HEX = 'a1'.repeat(32)

test.each<[string, (string | null)[]]>([
  ['ubuntu', [null, 'ubuntu', null, null]],
  ['acme/agent:1.0', [null, 'acme/agent', '1.0', null]],
  ['registry.example.com/acme/agent', ['registry.example.com', 'acme/agent', null, null]],
  ['localhost/agent', ['localhost', 'agent', null, null]],
  ['Registry.Example.com:5000/agent:V_1-x.y', ['Registry.Example.com:5000', 'agent', 'V_1-x.y', null]],
  ['[2001:db8::1]:5000/agent', ['[2001:db8::1]:5000', 'agent', null, null]],
  [`h:1/a/b__c/d--e.f:t@sha256:${HEX}`, ['h:1', 'a/b__c/d--e.f', 't', `sha256:${HEX}`]],
  [`agent@sha256:${HEX}`, [null, 'agent', null, `sha256:${HEX}`]],
  ['localhost:5000', [null, 'localhost', '5000', null]],
])('%s is parsed into its parts', (text, [host, path, tag, digest]) => {
  expect(parseImageReference(text)).toEqual({ host, path, tag, digest })
})

describe('an invalid reference gets a message with the cause', () => {
  test.each<[string, RegExp]>([
    ['', /empty/],
    [' ', /whitespace/],
    ['acme/agent :1', /whitespace/],
    ['acme/agent\n', /whitespace/],
    ['https://registry.example.com/agent', /without a scheme/],
    ['docker://agent', /without a scheme/],
    ['user:pw@registry.example.com/agent', /credentials/],
    ['Acme/agent', /lower case/],
    ['registry.example.com/Agent:1', /lower case/],
    ['agent:', /tag/],
    ['agent:-1', /tag/],
    ['agent:1:2', /tag/],
    [`agent:${'x'.repeat(129)}`, /tag/],
    ['agent@latest', /digest/],
    ['agent@sha256:abc', /digest/],
    [`agent@sha256:${HEX.toUpperCase()}`, /digest/],
    [`agent@sha512:${HEX}`, /digest/],
    ['registry.example.com/', /name a repository/],
    [':1', /name a repository/],
    ['/agent', /part of the repository/],
    ['acme//agent', /part of the repository/],
    ['acme/agent/', /part of the repository/],
    ['acme/../agent', /part of the repository/],
    ['acme/a___b', /part of the repository/],
    ['acme/-agent', /part of the repository/],
    ['--privileged', /part of the repository/],
    ['-h.example.com/agent', /registry/],
    ['h:/agent', /registry/],
    ['h:port/agent', /registry/],
    ['h:0/agent', /port/],
    ['h:65536/agent', /port/],
    [HEX, /id of an image/],
    [`acme/${'a'.repeat(251)}`, /at most 255/],
  ])('%j', (text, why) => {
    const answer = parseImageReference(text)
    expect(answer).toEqual(expect.stringMatching(why))
    expect(answer).not.toContain('pw')
  })
})

const component = fc.stringMatching(/^[a-z0-9]{1,8}(?:(?:\.|_|__|-{1,3})[a-z0-9]{1,8}){0,2}$/)
const host = fc.oneof(
  fc.constant('localhost'),
  fc.domain(),
  fc.tuple(fc.stringMatching(/^[A-Za-z0-9]{1,20}$/), fc.integer({ min: 1, max: 65_535 })).map((both) => both.join(':')),
)
const reference: fc.Arbitrary<ImageReference> = fc
  .record({
    host: fc.option(host),
    path: fc.array(component, { minLength: 1, maxLength: 4 }).map((components) => components.join('/')),
    tag: fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/)),
    digest: fc.option(fc.stringMatching(/^sha256:[a-f0-9]{64}$/)),
  })
  // without a registry, the first of several path parts must not look like a host
  .filter(({ host: named, path }) => named !== null || !/^(localhost|[^/]*\.[^/]*)\//.test(path))
  .filter(({ host: named, path }) => `${named}/${path}`.length <= 255)

test('parsing returns the parts that a reference was built from', () => {
  fc.assert(
    fc.property(reference, (parts) => {
      expect(parseImageReference(formatImageReference(parts))).toEqual(parts)
    }),
  )
})

test('any text is either rejected with a message or equals its joined parts', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-zA-Z0-9:/@._[\]-]{0,40}$/)), (text) => {
      const answer = parseImageReference(text)
      if (typeof answer === 'string') expect(answer).toMatch(/\.$/)
      else expect(formatImageReference(answer)).toBe(text)
    }),
  )
})
