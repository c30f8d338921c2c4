/** Formats an error that ends a process: one line for operator mistakes, with the stack for bugs. */
import { StuckError } from '../dataplane/worker/stop-step.ts'
import { DomainError } from '../domain/errors/errors.ts'
import { ConfigError } from '../platform/config/config.ts'
import { MigrationError } from '../platform/postgres/migrate.ts'

type SystemError = NodeJS.ErrnoException & { address?: string; port?: number; hostname?: string }

/** `prefix`: of the settings for host and port (`LISTENER_` for example). */
export function exitMessage(error: unknown, prefix = ''): string {
  for (const known of [ConfigError, MigrationError, DomainError, StuckError])
    if (error instanceof known) return error.message
  const { code, message, path, syscall, address, port, hostname } = error as SystemError
  if (syscall === 'listen') {
    if (code === 'EADDRINUSE') return `Port ${port} of ${address} is in use: stop what uses it, or set ${prefix}PORT.`
    if (address === undefined) return `Can't listen on the sockets of LISTEN_FDS (${code}): see the socket unit.`
    return `Can't listen on ${address}:${port} (${code}): see ${prefix}HOST and ${prefix}PORT.`
  }
  if (syscall === 'getaddrinfo') return `No address is known for ${hostname} (${code}): see ${prefix}HOST.`
  // a file system error names the file
  if (code !== undefined && path !== undefined) return message
  return `Pilothouse failed: ${error instanceof Error ? (error.stack ?? message) : String(error)}`
}
