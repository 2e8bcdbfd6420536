-- An order and its lines become rows of two tables.
function dispatch(order)
  if order.cancelled then return nil end
  local lines, total = {}, decimal(0)
  for i, line in ipairs(json.decode(order.lines)) do
    lines[i] = {order_id = order.id, number = i, what = line.what, price = line.price}
    total = total + line.price
  end
  order.lines = nil
  order.total = total
  return {orders = {order}, lines = lines}
end
