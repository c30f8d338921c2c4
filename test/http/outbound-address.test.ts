/** Which addresses this server may call, as far as their text tells. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressRefusal } from '../../src/platform/http/outbound-address.ts'

describe('an address', () => {
  const HTTPS = 'must be an https address (http only on this machine)'
  const HERE = 'is at this machine itself; see OUTBOUND_ALLOW'
  const at = (ip: string) => `is at a private address (${ip}); see OUTBOUND_ALLOW`

  test.each([
    ['', 'must be an absolute URL'],
    ['/token', 'must be an absolute URL'],
    ['//provider.example/token', 'must be an absolute URL'],
    ['https:provider.example', 'must be an absolute URL'],
    ['https:\\\\provider.example', 'must be an absolute URL'],
    ['https://provider.example/a b', 'must be an absolute URL'],
    [' https://provider.example', 'must be an absolute URL'],
    ['https://./', 'must be an absolute URL'],
    ['https://', 'must be an absolute URL'],
    ['https://[::1', 'must be an absolute URL'],
    ['http://provider.example/token', HTTPS],
    ['ftp://provider.example/token', HTTPS],
    ['file:///etc/passwd', 'must be an absolute URL'],
    ['http://localhost.provider.example/', HTTPS],
    ['http://notlocalhost/', HTTPS],
    ['http://10.0.0.1/', HTTPS],
    ['https://me@provider.example/', 'must be without user name and password'],
    ['https://:secret@provider.example/', 'must be without user name and password'],
    ['https://provider.example/#token', 'must be without a fragment (#…)'],
    ['https://provider.example/#', 'must be without a fragment (#…)'],
    ['http://localhost:8080/', HERE],
    ['https://LOCALHOST./', HERE],
    ['https://provider.localhost/', HERE],
    ['http://127.0.0.1/', at('127.0.0.1')],
    ['http://127.1/', at('127.0.0.1')],
    ['http://2130706433/', at('127.0.0.1')],
    ['https://0x7f.0.0.1/', at('127.0.0.1')],
    ['https://017700000001/', at('127.0.0.1')],
    ['https://１２７。0。0。1/', at('127.0.0.1')],
    ['http://[::1]/', at('::1')],
    ['https://[::]/', at('::')],
    ['https://0/', at('0.0.0.0')],
    ['https://169.254.169.254/latest/meta-data', at('169.254.169.254')],
    ['https://[::ffff:169.254.169.254]/', at('::ffff:a9fe:a9fe')],
    ['https://[::169.254.169.254]/', at('::a9fe:a9fe')],
    ['https://[64:ff9b::169.254.169.254]/', at('64:ff9b::a9fe:a9fe')],
    ['https://[2002:a9fe:a9fe::]/', at('2002:a9fe:a9fe::')],
    ['https://[fd00:ec2::254]/', at('fd00:ec2::254')],
    ['https://[fe80::1]/', at('fe80::1')],
    ['https://[fec0::1]/', at('fec0::1')],
    ['https://10.1.2.3/', at('10.1.2.3')],
    ['https://172.31.255.255/', at('172.31.255.255')],
    ['https://192.168.0.1./', at('192.168.0.1')],
    ['https://100.100.100.200/', at('100.100.100.200')],
    ['https://255.255.255.255/', at('255.255.255.255')],
  ])('%s is refused', (url, refusal) => {
    expect(addressRefusal({ allow: [] }, url)).toBe(refusal)
  })

  test.each([
    'https://provider.example/token?tenant=a',
    'https://provider.example:8443',
    'https://172.32.0.1/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])('%s is allowed without any entry', (url) => {
    expect(addressRefusal({ allow: [] }, url)).toBeNull()
  })

  test.each([
    ['https://10.1.2.3/', '10.1.2.3'],
    ['https://10.1.2.3/', '10.0.0.0/8'],
    ['https://[::ffff:10.1.2.3]/', '10.0.0.0/8'],
    ['https://10.1.2.3/', '::ffff:10.1.2.3'],
    ['https://[fd00::1]/', 'fd00::/8'],
    ['https://[fd00::1]/', 'FD00:0::1'],
    ['http://localhost/', 'localhost'],
    ['http://Provider.Localhost./', 'provider.LOCALHOST'],
    ['http://localhost/', '127.0.0.0/8'],
    ['http://127.0.0.1/', 'localhost'],
    ['http://[::1]/', 'localhost'],
    ['https://a.localhost/', 'LocalHost.'],
    ['http://localhost/', '::1'],
    ['http://[::1]/', '::/0'],
  ])('%s is allowed by the entry %s', (url, entry) => {
    expect(addressRefusal({ allow: ['192.168.7.7', entry] }, url)).toBeNull()
  })

  test.each([
    ['https://10.1.2.3/', '10.1.2.4'],
    ['https://10.1.2.3/', '10.2.0.0/16'],
    ['https://10.1.2.3/', '::/0'],
    ['https://[fd00::1]/', '0.0.0.0/0'],
    ['https://10.1.2.3/', 'localhost'],
    ['http://127.0.0.1/', 'provider.localhost'],
    ['http://10.1.2.3/', '10.1.2.3'],
    ['http://provider.internal/', 'provider.internal'],
  ])('%s is refused although there is the entry %s', (url, entry) => {
    expect(addressRefusal({ allow: [entry] }, url)).not.toBeNull()
  })

  test('in a private network is refused in every spelling', () => {
    const byte = fc.integer({ min: 0, max: 255 })
    const tail = fc.tuple(byte, byte, byte, byte)
    const within = (first: number[]) => tail.map((bytes) => [...first, ...bytes].slice(0, 4))
    const address = fc.oneof(
      ...[[0], [10], [127], [169, 254], [172, 16], [172, 31], [192, 168], [100, 64], [198, 18], [224], [255]].map(
        within,
      ),
    )
    const spellings: ((bytes: number[], text: string, hex: string) => string)[] = [
      (_, text) => text,
      (_, text) => `${text}.`,
      (_, __, hex) => String(Number(`0x${hex}`)),
      (_, __, hex) => `0x${hex}`,
      (bytes) => bytes.map((b) => `0${b.toString(8)}`).join('.'),
      ([a, b, c, d]) => `${a}.${b}.${c! * 256 + d!}`,
      (_, text) => `[::ffff:${text}]`,
      (_, text) => `[::${text}]`,
      (_, text) => `[64:ff9b::${text}]`,
      (_, text) => `[64:ff9b:1::${text}]`,
      (_, text) => `[::ffff:0:${text}]`,
      (_, __, hex) => `[2002:${hex.slice(0, 4)}:${hex.slice(4)}::]`,
    ]
    fc.assert(
      fc.property(address, fc.constantFrom(...spellings), (bytes, spell) => {
        const hex = Buffer.from(bytes).toString('hex')
        const url = `https://${spell(bytes, bytes.join('.'), hex)}/`
        expect(addressRefusal({ allow: [] }, url), url).toMatch(/^is at a private address /)
      }),
      { numRuns: 2000 },
    )
  })
})
