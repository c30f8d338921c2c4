/** Tests repository URLs: accepted ones, the URL that git gets, and messages for rejected ones. */
import { describe, expect, test } from 'vitest'
import { parseRepoUrl } from '../../src/domain/values/repository-url.ts'

test.each<[string, object]>([
  ['https://git.example.com/acme/agent.git', { protocol: 'https', url: 'https://git.example.com/acme/agent.git' }],
  ['HTTPS://Git.Example.com/acme', { protocol: 'https', url: 'https://git.example.com/acme' }],
  ['http://localhost:3000/acme/agent.git', { protocol: 'http', url: 'http://localhost:3000/acme/agent.git' }],
  ['http://127.0.0.1/acme/agent.git', { protocol: 'http', url: 'http://127.0.0.1/acme/agent.git' }],
  ['http://[::1]/acme/agent.git', { protocol: 'http', url: 'http://[::1]/acme/agent.git' }],
  [
    'ssh://git@git.example.com:22/acme/agent.git',
    { protocol: 'ssh', url: 'ssh://git@git.example.com:22/acme/agent.git' },
  ],
  ['git@git.example.com:acme/agent.git', { protocol: 'ssh', url: 'ssh://git@git.example.com/acme/agent.git' }],
  ['git@git.example.com:/srv/agent.git', { protocol: 'ssh', url: 'ssh://git@git.example.com/srv/agent.git' }],
  ['file:///srv/not%20there%20yet.git', { protocol: 'file', path: '/srv/not there yet.git' }],
  ['/srv/not there yet.git', { protocol: 'file', path: '/srv/not there yet.git' }],
])('%s is accepted', (url, parsed) => {
  expect(parseRepoUrl(url)).toEqual(parsed)
})

describe('a rejected URL gets a message with the cause', () => {
  test.each([
    'ftp://x/y',
    'ext::sh -c id',
    '--upload-pack=x',
    'https://',
    'http://github.com/a/b',
    'http://localhost.example.com/a/b',
    'git://example.com/x',
    'ssh://-oProxyCommand=id/x',
    'ssh://-o@host/x',
    '-oProxyCommand=id@host:x',
    'git:pw@host:x',
    'file://host/x',
    'file:///a%2Fb',
    'acme/agent',
    '',
  ])('«%s» is rejected', (url) => {
    expect(parseRepoUrl(url)).toMatch(/^Must be an https:\/\/ or ssh:\/\/ URL, git@host:path, or file:\/\//)
  })

  test.each([
    'https://user:pw@git.example.com/acme/agent',
    'https://token@git.example.com/acme/agent',
    'https://:pw@git.example.com/acme/agent',
    'http://user:pw@localhost/acme/agent',
    'ssh://git:pw@git.example.com/acme/agent',
  ])('%s is rejected because it contains credentials', (url) => {
    expect(parseRepoUrl(url)).toMatch(/^Must not contain a user name or password/)
  })

  test.each([
    'https://git.example.com/acme/agent.git?access_token=hush',
    'https://git.example.com/acme/agent?private_token=hush',
    'https://git.example.com/acme/agent?x=1&some-new-name=hush',
    'https://git.example.com/acme/agent?hush',
    'https://git.example.com/acme/agent#token=hush',
    'http://localhost/acme/agent?token=hush',
    'ssh://git@git.example.com/acme/agent?token=hush',
    'git@git.example.com:acme/agent?token=hush',
    'file:///srv/agent.git?token=hush',
  ])('%s is rejected because it contains a query or fragment', (url) => {
    expect(parseRepoUrl(url)).toMatch(/^Must not contain a query string/)
    expect(parseRepoUrl(url)).not.toContain('hush')
  })

  test('a question mark is allowed in the path of a folder, and if it is encoded', () => {
    expect(parseRepoUrl('/srv/what?.git')).toEqual({ protocol: 'file', path: '/srv/what?.git' })
    expect(parseRepoUrl('file:///srv/what%3F.git')).toEqual({ protocol: 'file', path: '/srv/what?.git' })
  })
})
