/** Logins of the command line: the query by code and the decision. Only REST begins logins and hands their keys out. */
import { ConflictError, NotFoundError } from '../../../domain/errors/errors.ts'
import { approveInput, approveLogin, refuseInput, refuseLogin } from '../../../domain/logins/decide.ts'
import { findLogin, type LoginView, loginStatus } from '../../../domain/logins/login.ts'
import { builder } from '../builder/builder.ts'
import { LoginStatus, Role } from '../builder/enums.ts'
import { mutation, resultAs } from '../builder/mutation.ts'

const Login = builder.objectRef<LoginView>('Login').implement({
  description: 'A login of the command line on a machine. A person approves it; then the machine gets an API key.',
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name', { description: 'The name of the machine, as it says itself.' }),
    address: t.exposeString('address', {
      description: 'The address that the login came from; of an IPv6 address the first 64 bits.',
    }),
    status: t.field({ type: LoginStatus, resolve: (login, _args, ctx) => loginStatus(login, ctx.clock()) }),
    role: t.expose('role', {
      type: Role,
      nullable: true,
      description: 'The role of the key. Null unless the login is approved.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
  }),
})

const errors = [NotFoundError, ConflictError]

builder.queryField('login', (t) =>
  t.field({
    type: Login,
    nullable: true,
    description:
      'The login with the code that the command line shows. NOT_FOUND if the code is unknown, or if another workspace decided about the login. For deployers.',
    args: { code: t.arg.string({ required: true }) },
    resolve: (_root, { code }, ctx) => findLogin(ctx, { body: { code } }),
  }),
)

mutation('approveLogin', {
  description:
    'Approves a login. The machine gets an API key of this workspace for at most 30 days. The caller is its owner and may revoke it. Approve only a login that you have started: compare the code. For deployers.',
  input: approveInput,
  type: resultAs('login', Login),
  errors,
  verb: approveLogin,
})

mutation('refuseLogin', {
  description: 'Refuses a login: the machine gets no key. For deployers.',
  input: refuseInput,
  type: resultAs('login', Login),
  errors,
  verb: refuseLogin,
})
