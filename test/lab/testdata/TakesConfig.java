import java.io.FileInputStream;
import java.io.InputStream;
import java.util.Properties;

/** Says for each file whether Kafka itself takes it: "ok", or the reason why not, on one line. */
public class TakesConfig {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            Properties properties = new Properties();
            try (InputStream in = new FileInputStream(file)) {
                properties.load(in);
            }
            System.out.println(answer(properties));
        }
    }

    private static String answer(Properties properties) {
        try {
            new kafka.server.KafkaConfig(properties, false);
            return "ok";
        } catch (Throwable e) {
            return String.valueOf(e).replace('\n', ' ');
        }
    }
}
