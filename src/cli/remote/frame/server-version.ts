/** The server's version, and a warning when the command line is too old for it. */
import { PilothouseError, UnreachableError } from '../../../client/index.ts'
import type { Call } from '../../terminal/command.ts'
import { VERSION } from '../../terminal/version.ts'
import { connect, type RemoteCall } from './call.ts'

const major = (version: string) => Number.parseInt(version, 10)

/** A newer major version may answer in a way that this command line does not know. */
export function warnIfNewer(server: string, { say }: Pick<Call, 'say'>): void {
  if (major(server) > major(VERSION))
    say(
      `The server's version ${server} is newer than this command line (${VERSION}). Update it: npm install --global @pilothouse/cli`,
    )
}

/** Prints only the warning. No error of this call matters to the command. */
export async function checkServerVersion(call: RemoteCall): Promise<void> {
  try {
    const { data } = await connect(call.connection, 0, call.say).api.GET('/v2/me')
    warnIfNewer(data!.server.version, call)
  } catch (error) {
    // an older server has no such operation
    if (!(error instanceof PilothouseError || error instanceof UnreachableError)) throw error
  }
}
