/** A `pg.Client` with libpq's `require_auth=scram-sha-256`: the server must prove that it knows the password. */
import pg from 'pg'

export class PgClient extends pg.Client {
  constructor(config: pg.ClientConfig & { connectionString: string }) {
    super(config)
    if (new URL(config.connectionString).searchParams.get('require_auth') === 'scram-sha-256') requireScram(this)
  }
}

/** SCRAM authenticates both sides. Without it, any server could receive the password or statements with secrets. */
function requireScram({ connection }: pg.Client): void {
  let hasProof = false
  const refuse = () =>
    connection.emit(
      'error',
      new Error('The server does not log clients in by SCRAM-SHA-256, as require_auth demands: it may be another one.'),
    )
  connection.on('authenticationCleartextPassword', refuse)
  connection.on('authenticationMD5Password', refuse)
  connection.on('authenticationSASLFinal', () => {
    hasProof = true
  })
  connection.on('authenticationOk', () => {
    if (!hasProof) refuse()
  })
  // pg also emits this for a wrong proof, and would continue. A destroyed stream sends nothing more
  connection.once('error', () => {
    connection.removeAllListeners('readyForQuery')
    connection.stream.destroy()
  })
}
