/** The host of a custom_url: the door routes it, so it belongs to one deployment of the installation. */
import { isIP } from 'node:net'
import { ValidationError } from '../errors/errors.ts'
import { violation } from '../parsing/parse.ts'

/** In lower case, without port and trailing dot. Null: none that the door routes, because addresses by path have these hosts. */
export function customHostOf(url: string | null): string | null {
  const host = url === null ? '' : new URL(url).hostname.replace(/\.$/, '')
  return host === '' || host === 'localhost' || host.startsWith('[') || isIP(host) ? null : host
}

/** Doesn't say whose the host is. */
export const customHostTaken = (): ValidationError =>
  new ValidationError([
    violation(
      'source_config.custom_url',
      'Another deployment of this installation has this host. Choose another host.',
    ),
  ])
